//! Waits for conditions in tests, without fixed sleeps.

use std::time::{Duration, Instant};

/// Interval between two checks.
const TICK: Duration = Duration::from_millis(10);

/// Polls `condition` until it returns a value, and returns that.
///
/// # Panics
/// Panics with `what` after `limit`.
#[track_caller]
pub fn wait_for<T>(what: &str, limit: Duration, mut condition: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + limit;
    loop {
        if let Some(answer) = condition() {
            return answer;
        }
        assert!(Instant::now() < until, "after {limit:?} still missing: {what}");
        std::thread::sleep(TICK);
    }
}
