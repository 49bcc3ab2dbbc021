//! Events of a running episode.

use std::io;

use assay_model::Violation;

use crate::policy_link::WaitEvents;

/// Receives the events of a running episode.
pub(crate) trait EpisodeEvents: WaitEvents {
    /// Called when this many control steps are done.
    fn progress(&mut self, steps: u32) -> io::Result<()>;
    /// Called when a critical clause is violated for the first time; returns once the violation is recorded.
    fn violated(&mut self, violation: Violation) -> io::Result<()>;
    /// Returns true if a trial run should end; called after each of its steps.
    fn is_concluded(&mut self) -> io::Result<bool> {
        Ok(false)
    }
}
