//! Waits for the end of a jailed process that works by itself, within its limits.

use std::io;
use std::time::Duration;

use assay_jail::{Child, Exit, WorkEnd, WorkLimit, WorkWatch};

use crate::Cancel;

/// Interval at which a waiting worker checks its cancel flag.
const TICK: Duration = Duration::from_millis(50);

/// The end of a process's work.
#[derive(Debug)]
pub(crate) enum WorkOutcome {
    /// It ended by itself, or something else ended it.
    Ended(Exit),
    /// It was killed because it exceeded a limit.
    OverLimit(WorkEnd),
    /// It was killed because it is no longer wanted.
    Cancelled,
}

/// Waits for the end of `child`, and kills it when it is no longer wanted or exceeds a limit. Calls `on_poll` now and
/// then.
///
/// # Errors
/// The kernel gives no random number.
pub(crate) fn finished(
    child: &mut Child,
    limit: WorkLimit,
    cancel: &Cancel,
    on_poll: &dyn Fn(),
) -> io::Result<WorkOutcome> {
    let mut work = WorkWatch::of(limit, child)?;
    loop {
        let tick = work.due_in().map_or(TICK, |due| due.min(TICK));
        if let Some(exit) = child.wait_deadline(tick) {
            return Ok(WorkOutcome::Ended(exit));
        }
        if cancel.is_cancelled() {
            child.kill();
            return Ok(WorkOutcome::Cancelled);
        }
        if let Some(end) = work.check(child) {
            // It may have ended meanwhile.
            let exit = child.kill();
            return Ok(if exit.is_success() { WorkOutcome::Ended(exit) } else { WorkOutcome::OverLimit(end) });
        }
        on_poll();
    }
}
