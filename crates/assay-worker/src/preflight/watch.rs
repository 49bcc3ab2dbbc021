//! Limits of a try, which do not depend on the pace of the machine: the lane's own work, and the policy's. A policy
//! server is on another machine, so its answers are measured in wall-clock time.

use std::io;
use std::time::{Duration, Instant};

use assay_jail::{Activity, WorkEnd, WorkLimit, WorkWatch};
use assay_model::Violation;
use assay_model::lane::WAIT_TICK;
use assay_policy::PolicyConnection;

use crate::episode::lane::{Course, LaneEvents, TICK};
use crate::episode::rejection::Rejection;

/// Measures how long a lane waits for a policy server, in all. The lane's own work, such as rendering images, does not
/// count.
#[derive(Debug, Default)]
pub(super) struct AnswerTimer {
    /// Total time of the waits that have ended.
    ended: Duration,
    /// Begin of the present one.
    since: Option<Instant>,
}

impl AnswerTimer {
    fn waiting(&mut self) {
        // A lane that still waits says so again.
        self.since.get_or_insert_with(Instant::now);
    }

    fn answered(&mut self) {
        if let Some(since) = self.since.take() {
            self.ended += since.elapsed();
        }
    }

    /// Returns the time that the lane has waited.
    fn waited(&self) -> Duration {
        self.ended + self.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}

/// The clock of a policy in one try.
#[derive(Debug)]
enum PolicyClock {
    /// CPU time of its process, and its sleep while the lane waits for it.
    Process(Box<WorkWatch>),
    /// Wall-clock time while the lane waits for it.
    Server(AnswerTimer),
}

impl PolicyClock {
    fn used(&self) -> Duration {
        match self {
            Self::Process(work) => work.used(),
            Self::Server(timer) => timer.waited(),
        }
    }
}

/// The limits of a try.
#[derive(Debug, Clone, Copy)]
pub(super) struct TryLimits {
    /// All answers of the policy.
    pub(super) answers: Duration,
    /// Work of lane and policy after which the lane takes no further step.
    pub(super) steps: Duration,
    /// The lane's own work, in all tries.
    pub(super) lane: WorkLimit,
}

/// Watches lane and policy in one try.
pub(super) struct TryWatch<'a> {
    policy: &'a dyn PolicyConnection,
    clock: PolicyClock,
    lane: WorkWatch,
    lane_cpu: Duration,
    /// The lane's CPU time when it began the try, after compiling.
    lane_cpu_before: Option<Duration>,
    limits: TryLimits,
    /// The limit that the lane exceeded.
    lane_end: Option<WorkEnd>,
    /// True once the policy's answers took too long.
    is_silent: bool,
    policy_end: Option<WorkEnd>,
}

impl<'a> TryWatch<'a> {
    /// Begins to watch, before the lane gets its command.
    pub(super) fn begin(policy: &'a dyn PolicyConnection, limits: TryLimits) -> io::Result<Self> {
        let clock = match policy.pid() {
            Some(_) => {
                let cpu = policy.cpu_time().unwrap_or_default();
                let mut work = WorkWatch::begin(WorkLimit::together(limits.answers), cpu)?;
                work.pause();
                PolicyClock::Process(Box::new(work))
            }
            None => PolicyClock::Server(AnswerTimer::default()),
        };
        let lane = WorkWatch::begin(limits.lane, Duration::ZERO)?;
        Ok(Self {
            policy,
            clock,
            lane,
            lane_cpu: Duration::ZERO,
            lane_cpu_before: None,
            limits,
            lane_end: None,
            is_silent: false,
            policy_end: None,
        })
    }

    /// Returns true if the policy's answers took too long.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Returns the policy's work and, of a server, the time of its answers.
    pub(super) fn policy_used(&self) -> Duration {
        self.clock.used()
    }
}

impl LaneEvents for TryWatch<'_> {
    fn progress(&mut self, _step: u32, _of: u32) {}

    fn waiting(&mut self) {
        self.lane.pause();
        match &mut self.clock {
            PolicyClock::Process(work) => work.resume_after(WAIT_TICK),
            PolicyClock::Server(timer) => timer.waiting(),
        }
    }

    fn answered(&mut self) {
        self.lane.resume();
        match &mut self.clock {
            PolicyClock::Process(work) => work.pause(),
            PolicyClock::Server(timer) => timer.answered(),
        }
    }

    fn tick(&mut self, lane: &dyn Fn() -> Option<Activity>) -> Duration {
        let (now, lane_cpu) = (Instant::now(), self.lane_cpu);
        self.lane_end = self.lane.check_at(now, || Some(lane_cpu), lane);
        let mut due = self.lane.due_in();
        if let PolicyClock::Process(work) = &mut self.clock {
            // A lane that is ready to run has an answer that it could not read yet: the policy sleeps with good reason.
            let activity = || match self.policy.activity()? {
                Activity::Asleep if lane() == Some(Activity::Ready) => Some(Activity::Ready),
                activity => Some(activity),
            };
            self.policy_end = work.check_at(now, || self.policy.cpu_time(), activity);
            due = due.or(work.due_in());
        }
        due.map_or(TICK, |due| due.min(TICK))
    }

    fn course(&mut self, lane_cpu: Duration) -> Course {
        self.lane_cpu = self.lane_cpu.max(lane_cpu);
        let used = self.clock.used();
        self.is_silent = self.policy_end.is_some() || used > self.limits.answers;
        let before = *self.lane_cpu_before.get_or_insert(self.lane_cpu);
        let in_try = self.lane_cpu.saturating_sub(before) + used;
        match self.lane_end {
            Some(end) => Course::Abort(end),
            None if self.is_silent => Course::Abort(self.policy_end.unwrap_or(WorkEnd::Asleep)),
            None if in_try > self.limits.steps => Course::Conclude,
            None => Course::Continue,
        }
    }

    fn violated(&mut self, _violation: Violation) -> Result<(), Rejection> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::*;

    #[test]
    fn only_the_waits_for_a_servers_answers_count_in_all() {
        let mut timer = AnswerTimer::default();
        sleep(Duration::from_millis(20));
        assert_eq!(timer.waited(), Duration::ZERO, "the lane has not asked yet");
        let began = Instant::now();
        timer.waiting();
        sleep(Duration::from_millis(20));
        // The lane repeats that it waits, which begins no new wait.
        timer.waiting();
        assert!(timer.waited() > Duration::from_millis(15));
        timer.answered();
        let first = began.elapsed();
        sleep(2 * first);
        assert!(timer.waited() <= first, "the lane's own work does not count");
        timer.waiting();
        sleep(first);
        assert!(timer.waited() > first, "two waits");
    }
}
