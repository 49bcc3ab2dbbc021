//! A result to be recorded.

use assay_model::EpisodeResult;
use jiff::Timestamp;

use crate::Fence;

/// A result of a worker that holds the shard.
pub(super) struct ResultEntry {
    pub(super) fence: Fence,
    pub(super) result: EpisodeResult,
    pub(super) now: Timestamp,
}
