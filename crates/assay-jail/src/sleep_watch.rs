//! Measures from outside how long a process sleeps: a policy while a lane waits for it, or a program at its work.
//!
//! A process that waits for a processor is not to blame for the delay; one that sleeps is. A process can falsify sums
//! over threads (run-queue delay), so the states of its threads are sampled at random moments instead: a share of the
//! samples is an unbiased estimate of a share of the time, regardless of what the process does between them.

use std::time::{Duration, Instant};

use assay_model::Generator;

use crate::Activity;

/// Minimum time between two samples.
const LEAST_GAP: Duration = Duration::from_millis(20);
/// Maximum time between two samples.
const MOST_GAP: Duration = Duration::from_millis(80);
/// Maximum time that one sample counts for: if the watcher was late, nothing is known about the rest of the time.
const MOST_WEIGHT: Duration = Duration::from_millis(100);

/// The sleep of one process.
#[derive(Debug)]
pub struct SleepWatch {
    random: Generator,
    /// Sleep in all waits.
    asleep: Duration,
    /// Sleep in the current wait.
    asleep_now: Duration,
    /// The time for which its process has been stopped in the current wait.
    stopped: Duration,
    /// In a wait, the time of the last sample, and of the next. Time between two waits is left out: it does not count.
    samples: Option<(Instant, Instant)>,
    /// Between two waits, the time waited since the last sample, and the time to wait until the next.
    carried: Option<(Duration, Duration)>,
}

impl SleepWatch {
    /// Creates a watch without samples; `seed` must not be known to the process.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let zero = Duration::ZERO;
        Self {
            random: Generator::new(seed),
            asleep: zero,
            asleep_now: zero,
            stopped: zero,
            samples: None,
            carried: None,
        }
    }

    /// Begins a wait for the process, unless there is one; it is known at `now`, after the time `waited`.
    pub fn begin(&mut self, now: Instant, waited: Duration) {
        if self.samples.is_none() {
            (self.asleep_now, self.stopped) = (Duration::ZERO, Duration::ZERO);
            let (since, until) = self.carried.take().unwrap_or_else(|| (Duration::ZERO, self.gap()));
            let last = now.checked_sub(since + waited).unwrap_or(now);
            self.samples = Some((last, now + until.saturating_sub(waited)));
        }
    }

    /// Ends the wait at `now`: the process has answered. The next wait continues where this one ends, so that short
    /// waits are measured like one long wait.
    pub fn end(&mut self, now: Instant) {
        if let Some((last, next)) = self.samples.take() {
            self.carried = Some((now.saturating_duration_since(last), next.saturating_duration_since(now)));
        }
    }

    /// Returns the time until the next sample; `None` outside a wait.
    #[must_use]
    pub fn due_in(&self, now: Instant) -> Option<Duration> {
        self.samples.map(|(_, next)| next.saturating_duration_since(now))
    }

    /// Takes a sample at `now` if one is due.
    pub fn sample(&mut self, now: Instant, activity: impl FnOnce() -> Option<Activity>) {
        let Some((last, next)) = self.samples.filter(|(_, next)| *next <= now) else { return };
        debug_assert!(next >= last);
        let weight = now.saturating_duration_since(last).min(MOST_WEIGHT);
        match activity() {
            Some(Activity::Asleep) => {
                self.asleep += weight;
                self.asleep_now += weight;
                self.stopped = Duration::ZERO;
            }
            Some(Activity::Stopped) => self.stopped += weight,
            Some(Activity::Ready) | None => self.stopped = Duration::ZERO,
        }
        self.samples = Some((now, now + self.gap()));
    }

    /// Returns the sleep in all waits so far.
    #[must_use]
    pub fn asleep(&self) -> Duration {
        self.asleep
    }

    /// Returns the sleep in the current wait, or in the last one.
    #[must_use]
    pub fn asleep_in_this_wait(&self) -> Duration {
        self.asleep_now
    }

    /// Returns for how long its process has been stopped from outside without a break.
    #[must_use]
    pub fn stopped(&self) -> Duration {
        self.stopped
    }

    fn gap(&mut self) -> Duration {
        LEAST_GAP + (MOST_GAP - LEAST_GAP).mul_f64(self.random.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a wait of `total` in steps of 1 ms; `activity` is the policy's at each moment.
    fn wait(watch: &mut SleepWatch, total: Duration, activity: impl Fn(Duration) -> Activity) {
        let start = Instant::now();
        watch.begin(start, Duration::ZERO);
        for ms in 0..u64::try_from(total.as_millis()).unwrap_or(0) {
            let at = Duration::from_millis(ms);
            watch.sample(start + at, || Some(activity(at)));
        }
        watch.end(start + total);
    }

    #[test]
    fn sleep_is_measured_within_a_few_per_cent_however_it_is_divided() {
        let total = Duration::from_secs(100);
        for (period_ms, asleep_ms) in [(50_u128, 45_u128), (20, 19), (80, 40), (7, 6), (1000, 100)] {
            let mut watch = SleepWatch::new(7);
            wait(&mut watch, total, |at| {
                if at.as_millis() % period_ms < asleep_ms { Activity::Asleep } else { Activity::Ready }
            });
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let share = asleep_ms as f64 / period_ms as f64;
            let measured = watch.asleep().as_secs_f64() / total.as_secs_f64();
            assert!((measured - share).abs() < 0.06, "{period_ms} ms: {measured} for {share}");
        }
    }

    #[test]
    fn short_waits_are_measured_like_one_long_wait() {
        for (wait_ms, asleep_ms) in [(17_u64, 17_u128), (17, 8), (40, 40), (3, 2)] {
            let mut watch = SleepWatch::new(5);
            for _ in 0..60_000 / wait_ms {
                wait(&mut watch, Duration::from_millis(wait_ms), |at| {
                    if at.as_millis() < asleep_ms { Activity::Asleep } else { Activity::Ready }
                });
            }
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let expected = 60.0 * asleep_ms as f64 / wait_ms as f64;
            let measured = watch.asleep().as_secs_f64();
            assert!((measured - expected).abs() < 4.0, "{wait_ms} ms: {measured} s for {expected} s");
        }
    }

    #[test]
    fn the_time_before_a_wait_is_known_counts() {
        let (mut watch, start) = (SleepWatch::new(6), Instant::now());
        for round in 0..100 {
            let at = start + Duration::from_secs(round);
            watch.begin(at, Duration::from_millis(20));
            watch.sample(at, || Some(Activity::Asleep));
            watch.end(at);
        }
        assert!((watch.asleep().as_secs_f64() - 2.0).abs() < 0.1, "{watch:?}");
    }

    #[test]
    fn a_policy_that_is_ready_to_run_is_never_asleep() {
        let mut watch = SleepWatch::new(1);
        wait(&mut watch, Duration::from_secs(60), |_| Activity::Ready);
        assert_eq!((watch.asleep(), watch.stopped()), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn each_wait_starts_at_zero_and_adds_to_the_total() {
        let mut watch = SleepWatch::new(2);
        wait(&mut watch, Duration::from_secs(2), |_| Activity::Asleep);
        wait(&mut watch, Duration::from_secs(1), |_| Activity::Asleep);
        assert!(watch.asleep() > Duration::from_millis(2700), "{watch:?}");
        assert!(watch.asleep_in_this_wait() < Duration::from_secs(1) + MOST_WEIGHT, "{watch:?}");
        wait(&mut watch, Duration::from_secs(1), |_| Activity::Stopped);
        assert!(watch.stopped() > Duration::from_millis(900) && watch.asleep() < Duration::from_secs(3));
    }

    #[test]
    fn a_late_sample_counts_only_for_the_maximum_time() {
        let (mut watch, start) = (SleepWatch::new(3), Instant::now());
        watch.begin(start, Duration::ZERO);
        watch.sample(start + Duration::from_secs(60), || Some(Activity::Asleep));
        assert_eq!(watch.asleep(), MOST_WEIGHT);
    }
}
