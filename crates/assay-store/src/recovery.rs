//! Recovery of work whose lease has expired.

use assay_model::JobId;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::{StoreError, Work};

/// Changes made by [`RecoveryRecords::reconcile`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReconcileSummary {
    /// Work that can be claimed again because its lease expired.
    pub requeued: Vec<Work>,
    /// Jobs that are now FAILED because their leases expired too often.
    pub failed: Vec<JobId>,
    /// Time at which the next lease expires, if any is held.
    pub next_expiry: Option<Timestamp>,
}

/// Repository of everything that is leased or can be claimed.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait RecoveryRecords {
    /// Requeues the work of workers whose leases have expired. Called at start and every few seconds.
    async fn reconcile(&self, now: Timestamp) -> Result<ReconcileSummary, StoreError>;

    /// Returns the work that can be claimed now, at most `limit` entries, to prime a queue at start.
    async fn claimable(&self, limit: u32) -> Result<Vec<Work>, StoreError>;
}
