//! The size of a round of maintenance.

/// Maximum number of jobs per round.
pub(super) const BATCH: u32 = 1000;
