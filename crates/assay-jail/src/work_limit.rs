//! Limits of a process's work that do not depend on the pace of the machine.
//!
//! Work ends by its CPU time, and by its sleep: the time in which no thread of it runs or is ready to run. Time in
//! which it waits for a processor or for the disk counts as neither, so a busy machine delays work but does not end it.
//! Even so nothing lasts forever: the share of a processor that the machine gives stretches the wall-clock time, and
//! with less than one part in [`LEAST_SHARE`] the work is given up as [`WorkEnd::Starved`].

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use crate::{Activity, Child, SleepWatch};

/// The least share of a processor with which work goes on: one part in so many.
pub const LEAST_SHARE: u32 = 50;

/// The limits of a process's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkLimit {
    /// CPU time of all its threads.
    pub cpu: Duration,
    /// Time asleep, in all; also time for which another process has stopped it, without a break.
    pub asleep: Duration,
    /// CPU time and sleep together.
    pub in_all: Duration,
}

/// The limit that work exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkEnd {
    /// It used its CPU time.
    Cpu,
    /// It slept too long.
    Asleep,
    /// Another process has stopped it.
    Stopped,
    /// The machine gave it less than one part in [`LEAST_SHARE`] of a processor.
    Starved,
}

impl WorkLimit {
    /// Creates limits of the CPU time and of the sleep.
    #[must_use]
    pub const fn new(cpu: Duration, asleep: Duration) -> Self {
        Self { cpu, asleep, in_all: cpu.saturating_add(asleep) }
    }

    /// Creates a limit of CPU time and sleep together.
    #[must_use]
    pub const fn together(in_all: Duration) -> Self {
        Self { cpu: in_all, asleep: in_all, in_all }
    }

    /// Returns the wall-clock time that the limits take with the least share of a processor.
    #[must_use]
    pub const fn longest(&self) -> Duration {
        self.in_all.saturating_mul(LEAST_SHARE)
    }
}

impl WorkEnd {
    /// Returns true if the process is not to blame: another process or the machine kept it from its work.
    #[must_use]
    pub fn is_interference(self) -> bool {
        matches!(self, Self::Stopped | Self::Starved)
    }

    /// Describes the end of work with these limits: "it used 10 s of CPU time".
    #[must_use]
    pub fn describe(self, limit: &WorkLimit) -> String {
        match self {
            Self::Cpu => format!("it used {} s of CPU time", limit.cpu.as_secs_f64()),
            Self::Asleep => format!("it slept for {} s", limit.asleep.as_secs_f64()),
            Self::Stopped => format!("another process stopped it for {} s", limit.asleep.as_secs_f64()),
            Self::Starved => format!("the machine gave it less than 1/{LEAST_SHARE} of a processor"),
        }
    }
}

impl fmt::Display for WorkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "too much CPU time",
            Self::Asleep => "asleep for too long",
            Self::Stopped => "stopped by another process",
            Self::Starved => "starved of CPU",
        })
    }
}

/// The work of one process, compared with its limits.
#[derive(Debug)]
pub struct WorkWatch {
    limit: WorkLimit,
    cpu_at_start: Duration,
    /// CPU time since the start, at the last look.
    cpu: Duration,
    sleep: SleepWatch,
    /// Wall-clock time before the last pause.
    earlier: Duration,
    /// The end of the last pause; `None` in a pause.
    since: Option<Instant>,
}

impl WorkWatch {
    /// Begins to watch a process whose CPU clock shows `cpu`.
    ///
    /// # Errors
    /// The kernel gives no random number.
    pub fn begin(limit: WorkLimit, cpu: Duration) -> io::Result<Self> {
        let mut seed = [0; 8];
        rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())?;
        Ok(Self::at(Instant::now(), limit, cpu, u64::from_le_bytes(seed)))
    }

    /// Begins to watch a jailed process.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn of(limit: WorkLimit, child: &Child) -> io::Result<Self> {
        Self::begin(limit, child.cpu_time().unwrap_or_default())
    }

    fn at(now: Instant, limit: WorkLimit, cpu: Duration, seed: u64) -> Self {
        let mut sleep = SleepWatch::new(seed);
        sleep.begin(now, Duration::ZERO);
        Self { limit, cpu_at_start: cpu, cpu: Duration::ZERO, sleep, earlier: Duration::ZERO, since: Some(now) }
    }

    /// Looks at the process; returns the limit that it exceeds. To be called as often as [`Self::due_in`] asks for.
    pub fn check(&mut self, child: &Child) -> Option<WorkEnd> {
        self.check_at(Instant::now(), || child.cpu_time(), || child.activity())
    }

    /// Looks at a process with this CPU clock and activity, like [`Self::check`].
    pub fn check_at(
        &mut self,
        now: Instant,
        clock: impl Fn() -> Option<Duration>,
        activity: impl FnOnce() -> Option<Activity>,
    ) -> Option<WorkEnd> {
        self.sleep.sample(now, || {
            let before = clock();
            // Threads that wake each other up may all seem asleep, as they are read one after the other.
            activity().map(|seen| if seen == Activity::Asleep && clock() > before { Activity::Ready } else { seen })
        });
        if let Some(cpu) = clock() {
            self.cpu = cpu.saturating_sub(self.cpu_at_start).max(self.cpu);
        }
        self.end(now)
    }

    fn end(&self, now: Instant) -> Option<WorkEnd> {
        let (limit, asleep) = (&self.limit, self.sleep.asleep());
        let wall = self.earlier + self.since.map(|since| now.saturating_duration_since(since)).unwrap_or_default();
        if self.cpu > limit.cpu {
            Some(WorkEnd::Cpu)
        } else if asleep > limit.asleep {
            Some(WorkEnd::Asleep)
        } else if self.used() > limit.in_all {
            Some(if self.cpu > asleep { WorkEnd::Cpu } else { WorkEnd::Asleep })
        } else if self.since.is_some() && self.sleep.stopped() > limit.asleep {
            Some(WorkEnd::Stopped)
        } else {
            (wall > limit.longest()).then_some(WorkEnd::Starved)
        }
    }

    /// Begins a pause: the process waits for another, which is its task. Its CPU time counts all the same.
    pub fn pause(&mut self) {
        let now = Instant::now();
        if let Some(since) = self.since.take() {
            self.earlier += now.saturating_duration_since(since);
            self.sleep.end(now);
        }
    }

    /// Ends a pause.
    pub fn resume(&mut self) {
        self.resume_after(Duration::ZERO);
    }

    /// Ends a pause that was over for the time `passed`.
    pub fn resume_after(&mut self, passed: Duration) {
        if self.since.is_none() {
            let now = Instant::now();
            self.since = Some(now);
            self.earlier += passed;
            self.sleep.begin(now, passed);
        }
    }

    /// Returns CPU time and sleep so far: the time for which the process is answerable.
    #[must_use]
    pub fn used(&self) -> Duration {
        self.cpu + self.sleep.asleep()
    }

    /// Returns the time until the next look; `None` in a pause.
    #[must_use]
    pub fn due_in(&self) -> Option<Duration> {
        self.sleep.due_in(Instant::now())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const LIMIT: WorkLimit = WorkLimit::new(Duration::from_secs(4), Duration::from_secs(3));

    /// Watches for at most `total` in steps of 1 ms; `share` of it is CPU time. Returns the end, and its time.
    fn run(limit: WorkLimit, total: Duration, share: f64, activity: Activity) -> Option<(WorkEnd, Duration)> {
        let start = Instant::now();
        let mut watch = WorkWatch::at(start, limit, Duration::from_secs(9), 7);
        (0..total.as_millis()).find_map(|ms| {
            let passed = Duration::from_millis(u64::try_from(ms).ok()?);
            let clock = || Some(Duration::from_secs(9) + passed.mul_f64(share));
            watch.check_at(start + passed, clock, || Some(activity)).map(|end| (end, passed))
        })
    }

    #[test]
    fn each_limit_ends_the_work_and_names_itself() {
        let minute = Duration::from_secs(60);
        let within = |from: u64, to: u64| Duration::from_millis(from)..=Duration::from_millis(to);
        for (activity, share, expected, time) in [
            (Activity::Ready, 1.0, WorkEnd::Cpu, within(4000, 4010)),
            (Activity::Ready, 0.5, WorkEnd::Cpu, within(8000, 8010)),
            (Activity::Asleep, 0.0, WorkEnd::Asleep, within(2900, 3200)),
            (Activity::Stopped, 0.0, WorkEnd::Stopped, within(2900, 3200)),
        ] {
            let (end, at) = run(LIMIT, minute, share, activity).unwrap();
            assert!(end == expected && time.contains(&at), "{activity:?}, {share}: {end:?} after {at:?}");
        }
    }

    #[test]
    fn a_starved_process_goes_on_until_the_machine_gives_next_to_nothing() {
        let longest = LIMIT.longest();
        assert_eq!(longest, Duration::from_secs(7 * 50));
        // With 1/20 of a processor, the CPU time is used up after 20 times the limit.
        let (end, at) = run(LIMIT, longest, 0.05, Activity::Ready).unwrap();
        assert!(end == WorkEnd::Cpu && at >= Duration::from_secs(80), "{end:?} after {at:?}");
        let (end, at) = run(LIMIT, 2 * longest, 0.001, Activity::Ready).unwrap();
        assert!(end == WorkEnd::Starved && at > longest, "{end:?} after {at:?}");
    }

    #[test]
    fn a_limit_of_both_adds_work_and_sleep() {
        let start = Instant::now();
        let mut watch = WorkWatch::at(start, WorkLimit::together(Duration::from_secs(2)), Duration::ZERO, 3);
        let at = (0..10_000).find_map(|ms| {
            let passed = Duration::from_millis(ms);
            let works = passed < Duration::from_secs(1);
            let clock = || Some(passed.min(Duration::from_secs(1)));
            let activity = || Some(if works { Activity::Ready } else { Activity::Asleep });
            watch.check_at(start + passed, clock, activity).map(|end| (end, passed))
        });
        let (end, at) = at.unwrap();
        let expected = Duration::from_millis(1900)..=Duration::from_millis(2200);
        assert!(end == WorkEnd::Asleep && expected.contains(&at), "{end:?} after {at:?}");
    }

    #[test]
    fn threads_that_seem_asleep_but_use_cpu_time_are_not() {
        let start = Instant::now();
        let mut watch = WorkWatch::at(start, LIMIT, Duration::ZERO, 5);
        let reads = std::cell::Cell::new(0);
        for ms in 0..60_000_u64 {
            let clock = || {
                reads.set(reads.get() + 1);
                Some(Duration::from_nanos(reads.get()))
            };
            let end = watch.check_at(start + Duration::from_millis(ms), clock, || Some(Activity::Asleep));
            assert_eq!(end, None, "after {ms} ms");
        }
    }

    #[test]
    fn a_pause_counts_as_neither_sleep_nor_wall_clock_time() {
        let limit = WorkLimit::new(Duration::from_secs(4), Duration::ZERO);
        let mut watch = WorkWatch::begin(limit, Duration::ZERO).unwrap();
        watch.pause();
        let later = Instant::now() + 2 * limit.longest();
        assert_eq!(watch.check_at(later, || Some(Duration::from_secs(3)), || Some(Activity::Asleep)), None);
        assert_eq!((watch.used(), watch.due_in()), (Duration::from_secs(3), None));
        let over = watch.check_at(later, || Some(Duration::from_secs(5)), || Some(Activity::Asleep));
        assert_eq!(over, Some(WorkEnd::Cpu));
    }
}
