//! Waiting without bare sleeps.

use std::time::{Duration, Instant};

/// Between two looks.
const TICK: Duration = Duration::from_millis(10);

/// Looks until `condition` has an answer, and returns it.
///
/// # Panics
/// With what was missing, after `limit`.
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
