//! Wall-clock time limit for work on another thread.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::Cancel;

/// Interval for checking the limit.
const TICK: Duration = Duration::from_millis(50);

/// Sets `limit` after the time `after`, or when the caller cancels; ends when the sender of `running` is dropped.
pub(super) fn watch(running: Receiver<()>, after: Duration, cancel: &Cancel, limit: &Cancel) {
    let began = Instant::now();
    while running.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        if cancel.is_cancelled() || began.elapsed() > after {
            limit.cancel();
        }
    }
}
