//! A request for a shard, and its result.

use jiff::{SignedDuration, Timestamp};

use crate::{Claim, ShardRequest};

/// A worker's request for a shard, with the time and the length of the lease.
#[derive(Debug)]
pub(super) struct ClaimEntry {
    pub(super) request: ShardRequest,
    pub(super) now: Timestamp,
    pub(super) lease: SignedDuration,
}

/// Result of a request for a shard.
pub(super) enum PickedShard {
    Claimed(Box<Claim>),
    Nothing,
    /// Work is queued, but other transactions have locked it.
    Contended,
}
