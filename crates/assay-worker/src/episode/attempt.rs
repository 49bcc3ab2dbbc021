//! One attempt at an episode: its policy, its lane, and the policy's activity as observed from outside while the lane
//! waits.
//!
//! An attempt ends with a result, or is replaced if evidence that the policy cannot fake shows interference: another
//! process stopped or killed it, or the lane died. A policy that is only starved of CPU is given more time; one that
//! sleeps uses up a budget.

use std::time::{Duration, Instant};

use assay_jail::{Activity, SleepWatch, WorkEnd};
use assay_model::lane::{RunEpisode, SLEEP_LIMIT, WAIT_TICK};
use assay_model::{
    AttemptNote, EpisodeError, EpisodeResult, EpisodeStatus, PolicyErrorCode, ReplacedAttempt, ReplacementReason,
    Termination, Violation,
};
use assay_policy::{PolicyConnection, random_number};

use crate::episode::evidence;
use crate::episode::finalizer::{Finished, LaneOutput, PolicyState};
use crate::episode::host::{EpisodeHost, PreparedPolicy};
use crate::episode::lane::{Course, LaneError, LaneEvents, TICK};
use crate::episode::lane_process::nanos;
use crate::episode::lane_session::LaneSession;
use crate::episode::policy::PolicyStart;
use crate::episode::rejection::Rejection;
use crate::episode::results::{self, not_started};
use crate::episode::session_error::SessionError;
use crate::episode::session_events::SessionEvents;

/// Maximum time for which a policy's process may be stopped from outside.
const STOP_LIMIT: Duration = Duration::from_secs(20);
/// Minimum total sleep before a policy counts as sleeping.
const SLEEPER: Duration = Duration::from_secs(1);

/// An error that ended an attempt without an outcome.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EpisodeAttemptError {
    /// The lane could not be started, or failed.
    #[error(transparent)]
    Lane(#[from] LaneError),
    /// The policy could not be prepared, and the cause is not the policy.
    #[error(transparent)]
    Preparation(#[from] SessionError),
}

/// The outcome of an attempt.
pub(crate) enum Attempted {
    /// The episode has a result.
    Finished(Box<Finished>),
    /// The episode must be started again.
    Replaced(ReplacedAttempt),
    /// The policy was disturbed from outside before it received anything.
    NotBegun(String),
}

/// Reason for killing a policy's process during an episode.
#[derive(Debug)]
enum EndedBy {
    /// It slept too long before one action.
    LongSleep,
    /// Its total sleep in the episode exceeds the budget.
    WallBudget,
    /// It was stopped from outside.
    Stop,
}

/// The worker's view of a running episode.
struct Supervisor<'a> {
    host: &'a dyn EpisodeHost,
    episode: u32,
    policy: &'a mut dyn PolicyConnection,
    events: &'a dyn SessionEvents,
    notes: &'a mut Vec<AttemptNote>,
    sleep: SleepWatch,
    began: Instant,
    /// Maximum total sleep in the episode.
    wall_budget: Duration,
    /// Maximum CPU time of lane and policy together with the policy's sleep, if the caller sets one.
    work_limit: Option<Duration>,
    ended_by: Option<EndedBy>,
}

impl LaneEvents for Supervisor<'_> {
    fn progress(&mut self, step: u32, of: u32) {
        self.events.progress(self.episode, step, of);
    }

    fn waiting(&mut self) {
        if self.policy.pid().is_some() {
            self.sleep.begin(self.host.now(), WAIT_TICK);
        }
    }

    fn answered(&mut self) {
        self.sleep.end(self.host.now());
    }

    fn tick(&mut self, lane: &dyn Fn() -> Option<Activity>) -> Duration {
        let policy = &*self.policy;
        // A lane that is ready to run has an answer that it could not read yet: the policy sleeps with good reason.
        let activity = || match policy.activity()? {
            Activity::Asleep if lane() == Some(Activity::Ready) => Some(Activity::Ready),
            activity => Some(activity),
        };
        self.sleep.sample(self.host.now(), activity);
        self.end_if_over();
        self.sleep.due_in(self.host.now()).unwrap_or(TICK)
    }

    fn course(&mut self, lane_cpu: Duration) -> Course {
        let Some(limit) = self.work_limit else { return Course::Continue };
        let policy_cpu = self.policy.cpu_time().unwrap_or_default();
        let is_over = lane_cpu + policy_cpu + self.sleep.asleep() > limit;
        if is_over { Course::Abort(WorkEnd::Cpu) } else { Course::Continue }
    }

    fn violated(&mut self, violation: Violation) -> Result<(), Rejection> {
        let note = AttemptNote::Violated { episode: self.episode, violation, origin: None };
        self.events.note(&note)?;
        self.notes.push(note);
        Ok(())
    }
}

impl Supervisor<'_> {
    /// Kills the policy's process once it has slept, or has been stopped, for too long.
    fn end_if_over(&mut self) {
        let now = self.host.now();
        if self.ended_by.is_some() || self.sleep.due_in(now).is_none() {
            return;
        }
        let (asleep, asleep_in_all) = (self.sleep.asleep_in_this_wait(), self.sleep.asleep());
        // A policy that sleeps for most of its episode does not need its lane's processor.
        let mostly = asleep_in_all > SLEEPER && asleep_in_all * 2 > now.saturating_duration_since(self.began);
        self.events.sleeping(self.episode, mostly);
        self.ended_by = if self.sleep.stopped() > STOP_LIMIT {
            Some(EndedBy::Stop)
        } else if asleep > SLEEP_LIMIT {
            Some(EndedBy::LongSleep)
        } else if asleep_in_all > self.wall_budget {
            Some(EndedBy::WallBudget)
        } else {
            None
        };
        if self.ended_by.is_some() {
            self.policy.kill();
        }
    }
}

impl LaneSession<'_> {
    /// Starts `episode` with `prepared` and runs it until it ends or must be replaced.
    pub(crate) fn attempt(
        &mut self,
        episode: u32,
        prepared: Box<dyn PreparedPolicy + '_>,
        events: &dyn SessionEvents,
    ) -> Result<Attempted, EpisodeAttemptError> {
        let (job, seeds) = (self.job, self.job.seeds.episode(episode));
        // The lane compiles its scenario while the policy is imported.
        let mut lane = match self.lane.take() {
            Some(lane) => lane,
            None => self.host.lane(&job.scenario, &self.staged, self.core)?,
        };
        let mut policy = match prepared.start(self.cancel)? {
            PolicyStart::Ready(policy) => policy,
            PolicyStart::Failed(failure) => {
                self.lane = Some(lane);
                let result = not_started(&job.scenario, episode, seeds, *failure);
                let policy = PolicyState::None;
                return Ok(Attempted::Finished(Box::new(Finished {
                    result,
                    world_seed: seeds.world,
                    written: None,
                    policy,
                })));
            }
            PolicyStart::Disturbed(evidence) => {
                self.lane = Some(lane);
                return Ok(Attempted::NotBegun(evidence));
            }
            PolicyStart::GivenUp(_) => {
                return Err(SessionError::internal(
                    "the import was abandoned although the episode set no time limit for it",
                )
                .into());
            }
        };
        let stream = policy.take_stream().ok_or_else(|| SessionError::internal("the policy has no stream"))?;
        let folder = format!("{episode:03}");
        let destination = job.folder.as_ref().map(|to| to.join(evidence::folder_of(episode)));
        let run = RunEpisode {
            episode,
            seeds,
            nonce: policy.nonce(),
            policy_pid: policy.pid(),
            import_ends_at_ns: policy.import_ends_at().map(nanos),
            evidence: destination.as_ref().map(|_| folder.clone()),
            plain: events.packs(),
            replan_steps: job.policy.replan_steps(),
            observations: destination.as_ref().and(job.max_observation_bytes),
            probe: None,
        };
        let seed = random_number().map_err(LaneError::Io)?;
        let wall_budget = self.host.wall_budget(&job.scenario);
        let mut supervisor = Supervisor {
            host: self.host,
            episode,
            policy: &mut *policy,
            events,
            notes: &mut self.notes,
            sleep: SleepWatch::new(seed),
            began: self.host.now(),
            wall_budget,
            work_limit: self.work_limit,
            ended_by: None,
        };
        self.begun = true;
        let done = lane.run(run, stream.descriptors(), self.cancel, &mut supervisor);
        let (ended_by, asleep) = (supervisor.ended_by.take(), supervisor.sleep.asleep());
        events.sleeping(episode, false);
        let done = done?;
        if let Some(difference) = results::differs_from(&job.scenario, &done.result) {
            return Err(LaneError::OtherScenario(difference).into());
        }
        drop(stream);
        self.begun = false;
        tracing::info!(episode, steps = done.result.steps, "episode ended");
        let cost = || serde_json::to_string(&done.cost).unwrap_or_default();
        tracing::debug!(episode, asleep_s = asleep.as_secs_f64(), cost = %cost(), "cost of the episode");
        let written = destination.map(|destination| LaneOutput {
            scratch: lane.scratch(),
            inside: folder,
            destination,
            observations: done.observations,
        });
        self.lane = Some(lane);
        let ended = EndedEpisode { episode, world_seed: seeds.world, result: done.result, written, policy };
        Ok(ended.judge(ended_by, wall_budget))
    }
}

/// An episode that the lane has ended, with its policy.
struct EndedEpisode {
    episode: u32,
    world_seed: u64,
    result: EpisodeResult,
    written: Option<LaneOutput>,
    policy: Box<dyn PolicyConnection>,
}

impl EndedEpisode {
    /// Returns the result, or the evidence that requires replacing the attempt. `wall_budget` is the episode's budget.
    fn judge(mut self, ended_by: Option<EndedBy>, wall_budget: Duration) -> Attempted {
        // The reason for killing the process does not apply to a policy that exited before.
        let exited = self.result.error.as_ref().is_some_and(|error| error.code == PolicyErrorCode::Exited);
        if !exited {
            return self.finished(PolicyState::Running);
        }
        match ended_by {
            Some(EndedBy::Stop) => {
                let evidence = format!("the policy's process was stopped or frozen for {} s", STOP_LIMIT.as_secs());
                self.replaced(ReplacementReason::PolicyStopped, &evidence)
            }
            Some(EndedBy::LongSleep) => {
                let message = format!("the policy gave no answer for {} s: it was asleep", SLEEP_LIMIT.as_secs());
                time_out(&mut self.result, PolicyErrorCode::Timeout, message);
                self.finished(PolicyState::Running)
            }
            Some(EndedBy::WallBudget) => {
                let limit = wall_budget.as_secs_f64();
                let message = format!(
                    "the policy slept for more than {limit:.0} s of this episode while the simulator waited for its \
                     answers; an episode allows no more"
                );
                time_out(&mut self.result, PolicyErrorCode::WallBudget, message);
                self.finished(PolicyState::Running)
            }
            None => {
                let end = self.policy.finish();
                match end.killed_from_outside() {
                    Some(evidence) => replaced(self.episode, ReplacementReason::PolicyKilled, self.written, &evidence),
                    None => {
                        let Self { result, world_seed, written, .. } = self;
                        Attempted::Finished(Box::new(Finished {
                            result,
                            world_seed,
                            written,
                            policy: PolicyState::Ended(end),
                        }))
                    }
                }
            }
        }
    }

    fn finished(self, state: impl FnOnce(Box<dyn PolicyConnection>) -> PolicyState) -> Attempted {
        let Self { result, world_seed, written, policy, .. } = self;
        Attempted::Finished(Box::new(Finished { result, world_seed, written, policy: state(policy) }))
    }

    fn replaced(self, reason: ReplacementReason, evidence: &str) -> Attempted {
        replaced(self.episode, reason, self.written, evidence)
    }
}

fn replaced(episode: u32, reason: ReplacementReason, written: Option<LaneOutput>, evidence: &str) -> Attempted {
    written.iter().for_each(LaneOutput::forget);
    Attempted::Replaced(ReplacedAttempt::new(episode, reason, evidence))
}

/// Marks the result as a timeout of a policy whose process was killed because it slept.
fn time_out(result: &mut EpisodeResult, code: PolicyErrorCode, message: String) {
    (result.status, result.termination) = (EpisodeStatus::PolicyTimeout, Termination::PolicyTimeout);
    result.error = Some(EpisodeError { code, message, log_tail: String::new() });
}
