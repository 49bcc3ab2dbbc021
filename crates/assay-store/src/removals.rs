//! Removal of the files of jobs that have ended: all of them, by the owner ("erased"), or evidence and policy, by age
//! and size. The job record stays. Files that no record refers to are removed at the end of every job.
//!
//! A removal has two steps: it is decided in the records, then the files are deleted. If the process dies between the
//! two, the removal is listed again by [`RemovalRecords::pending_removals`]; repeating it is harmless.

use std::collections::HashMap;

use assay_model::{AccountId, JobId, JobStatus};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::StoreError;

/// Time after a job ended, was erased or lost its evidence during which its removal is repeated, because a lane or
/// renderer that has not yet noticed may write more files.
pub const REMOVAL_SETTLE_TIME: SignedDuration = SignedDuration::from_secs(30);

/// The times at which parts of a job were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemovalTimes {
    /// Everything but the record, on the owner's request.
    pub erased_at: Option<Timestamp>,
    /// The files of its episodes.
    pub evidence_at: Option<Timestamp>,
    /// The archive.
    pub policy_at: Option<Timestamp>,
}

/// Result of erasing a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseOutcome {
    /// The removal is recorded; the files can be deleted.
    Done,
    /// It was erased before, at this time.
    Already(Timestamp),
    /// It has not ended, and is in this state.
    Open(JobStatus),
    /// There is no such job (of this account).
    NotFound,
}

/// The evidence of a job to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceRemoval {
    /// All of it.
    All,
    /// Files that no result and no render refers to: of attempts that were not recorded, because the job or its
    /// process ended, and of episodes after the end of a certification.
    Unrecorded,
}

/// Files of a job to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The job.
    pub job_id: JobId,
    /// Delete everything, including signed reports.
    pub erased: bool,
    /// The evidence to delete.
    pub evidence: EvidenceRemoval,
    /// Delete its archive, unless another job needs it; relative to the data folder.
    pub policy_path: Option<String>,
}

/// Repository of removals.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait RemovalRecords {
    /// Records the decision to remove everything but the record of a job.
    async fn erase_job(
        &self,
        account: Option<&AccountId>,
        id: JobId,
        now: Timestamp,
    ) -> Result<EraseOutcome, StoreError>;

    /// Records the decision to remove the evidence of a job. Returns false if the job has not ended or its evidence was
    /// removed before.
    async fn drop_evidence(&self, id: JobId, now: Timestamp) -> Result<bool, StoreError>;

    /// Records the decision to remove the archives of jobs that ended before `before`, at most `limit`. Returns their
    /// number.
    async fn drop_policies(&self, before: Timestamp, limit: u32, now: Timestamp) -> Result<u64, StoreError>;

    /// Counts the jobs whose archives [`Self::drop_policies`] would remove, up to `limit`.
    async fn count_old_policies(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError>;

    /// Lists jobs that ended before `before` and may have evidence, by time of their end, at most `limit`.
    async fn jobs_with_evidence(&self, before: Timestamp, limit: u32) -> Result<Vec<JobId>, StoreError>;

    /// Returns the size of each job's recorded evidence, not packed, in bytes. Jobs without evidence, or whose evidence
    /// was removed, are left out. Reads all jobs, so it is meant to be called once in a while.
    async fn evidence_sizes(&self) -> Result<HashMap<JobId, u64>, StoreError>;

    /// Lists removals whose files may still exist, at most `limit`.
    async fn pending_removals(&self, limit: u32) -> Result<Vec<Removal>, StoreError>;

    /// Records that the files of a job are deleted. It is listed by [`Self::pending_removals`] until
    /// [`REMOVAL_SETTLE_TIME`] has passed.
    async fn finish_removal(&self, id: JobId, now: Timestamp) -> Result<(), StoreError>;

    /// Returns true if a job still needs this archive.
    async fn is_policy_needed(&self, policy_path: &str) -> Result<bool, StoreError>;
}
