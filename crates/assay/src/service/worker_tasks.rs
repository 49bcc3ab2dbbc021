//! Replays, preflights and checks of scenarios of a server without lanes: workers that the operator trusts do them,
//! while the request of the client waits.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use assay_api::{OsEntropy, WorkerFleet};
use assay_model::{Clock, Entropy, SystemClock, TaskAnswer, WorkerTask};
use assay_store::{TaskFence, TaskFiles, TaskState};
use assay_worker::Cancel;
use uuid::Uuid;

/// Interval at which the state of a task is read.
const TICK: Duration = Duration::from_millis(50);
/// Maximum time for which a task waits, in all, for a worker that takes it.
const UNTAKEN_LIMIT: Duration = Duration::from_secs(600);
/// Maximum time of a task, for a worker that renews its lease and never answers. The limits of the work itself, which
/// do not depend on the pace of the worker's machine, end it much earlier.
const LONGEST: Duration = Duration::from_secs(4 * 3600);

/// The message for a client whose task no worker may do.
const NO_WORKER: &str = "this server has no lanes, and no worker that the operator trusts and that has the policy's runtime \
                         is connected; ask the operator to start one (assay workers create NAME --trusted)";

/// Gives tasks to workers on other hosts.
#[derive(Debug, Clone)]
pub(crate) struct WorkerTasks {
    pub(super) tasks: TaskFiles,
    pub(super) fleet: WorkerFleet,
    /// Duration of a lease without renewal.
    pub(super) lease: Duration,
}

/// The message for a client at whose task each worker failed that may do it.
const WORKERS_FAILED: &str = "a worker of this server failed at this, and there is no other that can do it; the operator \
                              finds the cause in the server's log";
/// Maximum number of workers that try a task.
const MAX_WORKERS: usize = 3;

/// The reason why a task has no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// For the client: no worker can do it, or none did in time.
    Unavailable(String),
    /// The client is gone, or the service stops.
    Cancelled,
    /// Workers failed, for reasons in the log, and there is no other.
    WorkersFailed,
    /// A file of the task cannot be read or written.
    Io(io::Error),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(message) => f.write_str(message),
            Self::Cancelled => f.write_str("cancelled"),
            Self::WorkersFailed => f.write_str(WORKERS_FAILED),
            Self::Io(_) => f.write_str("could not read or write the files of a task"),
        }
    }
}

impl Error for NoAnswer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Unavailable(_) | Self::Cancelled | Self::WorkersFailed => None,
        }
    }
}

impl From<io::Error> for NoAnswer {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The time of a task.
#[derive(Debug)]
struct TaskLimits {
    began: Instant,
    last: Instant,
    /// Time for which no worker had it.
    untaken: Duration,
}

impl TaskLimits {
    fn begin(now: Instant) -> Self {
        Self { began: now, last: now, untaken: Duration::ZERO }
    }

    /// Adds the time since the last call, in which the task `waits` for a worker or is worked at; returns the message
    /// for the client once it has taken too long.
    fn exceeded(&mut self, now: Instant, waits: bool) -> Option<String> {
        if waits {
            self.untaken += now.saturating_duration_since(self.last);
        }
        self.last = now;
        let (untaken, longest) = (UNTAKEN_LIMIT.as_secs(), LONGEST.as_secs());
        if self.untaken > UNTAKEN_LIMIT {
            return Some(format!("no worker was free for this within {untaken} s; try again later"));
        }
        let all = now.saturating_duration_since(self.began);
        (all > LONGEST).then(|| format!("no worker finished this within {longest} s; try again later"))
    }
}

/// Removes a task when dropped; its worker stops at its next renewal.
struct RemovedOnDrop<'a>(&'a TaskFiles, Uuid);

impl Drop for RemovedOnDrop<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.remove(self.1) {
            tracing::warn!(%error, task.id = %self.1, "could not remove a task");
        }
    }
}

impl WorkerTasks {
    /// Lets a worker do a task, and waits for its answer. A worker that dies or fails is replaced.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub(super) fn run(
        &self,
        task: &WorkerTask,
        inputs: &[(&str, &Path)],
        cancel: &Cancel,
    ) -> Result<TaskAnswer, NoAnswer> {
        if !self.fleet.can_do(task, &[]) {
            return Err(NoAnswer::Unavailable(NO_WORKER.to_owned()));
        }
        let (id, mut limits) = (new_id(), TaskLimits::begin(Instant::now()));
        let request = serde_json::to_vec(task).map_err(io::Error::other)?;
        self.tasks.create(id, &request, inputs)?;
        let _removed = RemovedOnDrop(&self.tasks, id);
        let mut lease: Option<(TaskFence, SystemTime, Instant)> = None;
        loop {
            let state = self.tasks.state(id)?;
            let over = limits.exceeded(Instant::now(), matches!(state, TaskState::Queued));
            match state {
                TaskState::Done { fence, answer } => {
                    match serde_json::from_slice(&answer).map_err(io::Error::other)? {
                        TaskAnswer::Broken { .. } => self.try_another(task, fence)?,
                        answer => return Ok(answer),
                    }
                }
                TaskState::Leased { fence, renewed } => match lease {
                    Some((held, at, seen)) if (held, at) == (fence, renewed) => {
                        // By this clock, which need not agree with others.
                        if seen.elapsed() > self.lease {
                            tracing::warn!(task.id = %id, "a worker is gone: its task is queued again");
                            self.tasks.give_back(fence)?;
                        }
                    }
                    _ => lease = Some((fence, renewed, Instant::now())),
                },
                TaskState::Queued => {}
                TaskState::Gone => return Err(NoAnswer::Cancelled),
            }
            if cancel.is_cancelled() {
                return Err(NoAnswer::Cancelled);
            }
            if let Some(message) = over {
                return Err(NoAnswer::Unavailable(message));
            }
            thread::sleep(TICK);
        }
    }
}

impl WorkerTasks {
    /// Leaves a task to a worker that did not fail at it.
    fn try_another(&self, task: &WorkerTask, failed: TaskFence) -> Result<(), NoAnswer> {
        let failed = self.tasks.leave_to_others(failed)?;
        match failed.len() < MAX_WORKERS && self.fleet.can_do(task, &failed) {
            true => Ok(()),
            false => Err(NoAnswer::WorkersFailed),
        }
    }
}

fn new_id() -> Uuid {
    let mut random = [0; 10];
    OsEntropy.fill(&mut random);
    let millis = u64::try_from(SystemClock.now().as_millisecond()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wait_for_a_worker_ends_a_task_early() {
        let start = Instant::now();
        let mut limits = TaskLimits::begin(start);
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(limits.exceeded(at(500), true), None);
        assert_eq!(limits.exceeded(at(3000), false), None, "a slow worker is at it");
        assert_eq!(limits.exceeded(at(3090), true), None);
        let message = limits.exceeded(at(3101), true).unwrap_or_default();
        assert!(message.contains("no worker was free for this within 600 s"), "{message}");
        let mut limits = TaskLimits::begin(start);
        assert_eq!(limits.exceeded(at(4 * 3600), false), None);
        assert!(limits.exceeded(at(4 * 3600 + 1), false).is_some());
    }
}
