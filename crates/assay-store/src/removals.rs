//! What is removed of jobs that have ended: all of it, by its owner ("erased"), or evidence and policy, by age and size.
//! The record stays.
//!
//! A removal is two steps: it is decided in the records, and then files go. Whoever dies between the two finds it in
//! [`RemovalRecords::pending_removals`] again; that it is done twice is harmless.

use assay_model::{AccountId, JobId, JobStatus};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::StoreError;

/// A job's files are looked for again until it has ended, was erased or lost its evidence this long ago: a lane or a renderer
/// that did not know yet may have written some.
pub const REMOVAL_SETTLE_TIME: SignedDuration = SignedDuration::from_secs(30);

/// What was removed of a job, and when.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovalTimes {
    /// Everything but the record, on its owner's wish.
    pub erased_at: Option<Timestamp>,
    /// The files of its episodes.
    pub evidence_at: Option<Timestamp>,
    /// The archive.
    pub policy_at: Option<Timestamp>,
}

/// What became of a wish to erase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseOutcome {
    /// It is decided; the files can go.
    Done,
    /// It was erased before.
    Already(Timestamp),
    /// It has not ended.
    Open(JobStatus),
    /// There is no such job (of this account).
    NotFound,
}

/// Files of a job that are to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The job.
    pub job_id: JobId,
    /// Everything goes, signed reports too.
    pub erased: bool,
    /// Its evidence goes.
    pub evidence: bool,
    /// Its archive goes, unless another job needs it; relative to the data folder.
    pub policy_path: Option<String>,
}

/// Removing what belongs to jobs that have ended.
#[async_trait]
pub trait RemovalRecords {
    /// Decides that nothing but the record of a job stays.
    async fn erase_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        now: Timestamp,
    ) -> Result<EraseOutcome, StoreError>;

    /// Decides that the evidence of a job that has ended goes; false when it may not, or went before.
    async fn drop_evidence(&self, id: JobId, now: Timestamp) -> Result<bool, StoreError>;

    /// Decides that the archives of jobs that ended before `before` go: how many, at most `limit`.
    async fn drop_policies(&self, before: Timestamp, limit: u32, now: Timestamp) -> Result<u64, StoreError>;

    /// Jobs that have ended and may have evidence, the one that ended first first; only those that ended before `before`,
    /// at most `limit`.
    async fn jobs_with_evidence(&self, before: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError>;

    /// Removals whose files may still be there, at most `limit`.
    async fn pending_removals(&self, limit: u32) -> Result<Vec<Removal>, StoreError>;

    /// The files of a job are gone. It comes up again in [`Self::pending_removals`] until it is [`REMOVAL_SETTLE_TIME`].
    async fn finish_removal(&self, id: JobId, now: Timestamp) -> Result<(), StoreError>;

    /// Whether a job still needs this archive.
    async fn is_policy_needed(&self, policy_path: &str) -> Result<bool, StoreError>;
}
