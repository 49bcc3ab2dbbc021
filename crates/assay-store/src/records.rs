//! The durable source of truth.

use async_trait::async_trait;

use crate::{
    AccessRecords, CommunityRecords, ConclusionRecords, EventRecords, IdempotencyRecords, JobRecords, KeyRecords,
    ModelRecords, QueueReader, QuotaRecords, RecoveryRecords, RemovalRecords, RenderRecords, ReviewRecords,
    SeasonRecords, SessionRecords, ShardRecords, StoreError, SubmissionRecords, WebhookRecords, WorkerConductRecords,
    WorkerRecords,
};

/// All repositories together: the durable source of truth.
///
/// Every method is one transaction, durable before it returns. Only claims of conclusions and of renders, and extended
/// leases, may be lost when the machine fails, since their workers die with it.
///
/// # Errors
/// Every method fails with [`StoreError`] if the engine fails; some refuse with [`StoreError::Exists`] or
/// [`StoreError::CapExceeded`]. All other outcomes of normal operation are `Ok` values.
#[async_trait]
pub trait Records:
    KeyRecords
    + SessionRecords
    + AccessRecords
    + IdempotencyRecords
    + JobRecords
    + ReviewRecords
    + ShardRecords
    + ConclusionRecords
    + RenderRecords
    + RecoveryRecords
    + QueueReader
    + EventRecords
    + WebhookRecords
    + SeasonRecords
    + SubmissionRecords
    + CommunityRecords
    + QuotaRecords
    + RemovalRecords
    + ModelRecords
    + WorkerRecords
    + WorkerConductRecords
    + Send
    + Sync
    + std::fmt::Debug
{
    /// Checks that the engine answers, for the readiness probe.
    async fn ping(&self) -> Result<(), StoreError>;
}
