//! The size of a round.

/// Most jobs per round.
pub(super) const BATCH: u32 = 1000;
