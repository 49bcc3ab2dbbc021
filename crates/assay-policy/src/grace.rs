//! The end of a process that is about to end by itself.

use std::time::Duration;

use assay_jail::{Child, Exit, WorkLimit, WorkWatch};

/// Maximum time between two looks at it.
const TICK: Duration = Duration::from_millis(20);

/// Waits for the end of `child`, and kills it once it has worked or slept for `grace`. Time for which it waits for a
/// processor does not count, so that a busy machine changes neither its exit nor its log.
pub(crate) fn end_within(child: &mut Child, grace: Duration) -> Exit {
    // Without random numbers it is killed at once: it could know when it is looked at.
    let mut work = WorkWatch::of(WorkLimit::together(grace), child).ok().filter(|_| !grace.is_zero());
    while let Some(watch) = &mut work {
        if let Some(exit) = child.wait_deadline(TICK) {
            return exit;
        }
        if watch.check(child).is_some() {
            work = None;
        }
    }
    child.kill()
}
