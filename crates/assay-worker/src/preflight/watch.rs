//! Wall-clock time limits of a preflight.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_jail::Activity;
use assay_model::Violation;

use crate::Cancel;
use crate::episode::lane::{LaneEvents, TICK};
use crate::episode::rejection::Rejection;

/// Sets `limit` once `is_over` returns true, or when the caller cancels; ends when the sender of `running` is dropped.
pub(super) fn watch(running: Receiver<()>, is_over: impl Fn() -> bool, cancel: &Cancel, limit: &Cancel) {
    while running.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        if cancel.is_cancelled() || is_over() {
            limit.cancel();
        }
    }
}

/// Measures how long a lane waits for the policy, in all. The lane's own work, such as rendering images, does not
/// count.
#[derive(Debug, Default)]
pub(super) struct AnswerTimer(Mutex<Waits>);

#[derive(Debug, Default)]
struct Waits {
    /// Total time of the waits that have ended.
    ended: Duration,
    /// Begin of the present one.
    since: Option<Instant>,
}

impl AnswerTimer {
    /// Returns true if the lane has waited for longer than `patience`.
    pub(super) fn exceeds(&self, patience: Duration) -> bool {
        let waits = self.lock();
        waits.ended + waits.since.map(|since| since.elapsed()).unwrap_or_default() > patience
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LaneEvents for &AnswerTimer {
    fn progress(&mut self, _step: u32, _of: u32) {}

    fn waiting(&mut self) {
        // A lane that still waits says so again.
        self.lock().since.get_or_insert_with(Instant::now);
    }

    fn answered(&mut self) {
        let mut waits = self.lock();
        if let Some(since) = waits.since.take() {
            waits.ended += since.elapsed();
        }
    }

    fn tick(&mut self, _lane: &dyn Fn() -> Option<Activity>) -> Duration {
        TICK
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
    fn only_the_waits_for_answers_count_in_all() {
        let timer = AnswerTimer::default();
        sleep(Duration::from_millis(20));
        assert!(!timer.exceeds(Duration::ZERO), "the lane has not asked yet");
        let began = Instant::now();
        (&timer).waiting();
        sleep(Duration::from_millis(20));
        // The lane repeats that it waits, which begins no new wait.
        (&timer).waiting();
        assert!(timer.exceeds(Duration::from_millis(15)));
        (&timer).answered();
        let first = began.elapsed();
        sleep(2 * first);
        assert!(!timer.exceeds(first), "the lane's own work does not count");
        (&timer).waiting();
        sleep(first);
        assert!(timer.exceeds(first), "two waits");
    }
}
