//! The conduct of workers on other hosts: evidence and claims without results, and failures left to others.

use assay_model::{Fence, JobId};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::{ExcludedShards, StoreError, WorkerName};

/// Maximum number of claims without a result that are counted.
pub(crate) const MAX_COUNTED_CLAIMS: u32 = 1_000_000;

/// The claims of a job by a worker since its last result for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimsWithoutResult {
    /// The job.
    pub job: JobId,
    /// Their number; a failure counts as several.
    pub count: u32,
    /// Time of the last one.
    pub last: Timestamp,
}

/// The conduct of a worker in unfinished jobs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkerConduct {
    /// Its claims without a result, by job.
    pub claims: Vec<ClaimsWithoutResult>,
    /// The shards that it leaves to others.
    pub left: Vec<ExcludedShards>,
}

/// Repository of what limits workers on other hosts. All of it is about jobs that run, and forgotten when they end.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait WorkerConductRecords {
    /// Returns what a worker did, and the shards that it leaves to others at `now`.
    async fn conduct_of_worker(&self, worker: &WorkerName, now: Timestamp) -> Result<WorkerConduct, StoreError>;

    /// Adds to a worker's claims of a running job since its last result for it. A result sets them to zero.
    async fn count_worker_claims(
        &self,
        worker: &WorkerName,
        job: JobId,
        count: u32,
        now: Timestamp,
    ) -> Result<(), StoreError>;

    /// Leaves a shard to other workers until then, also to those that left it to this one before: otherwise no worker
    /// would run a shard that failed on several. Returns false, and changes nothing, if the worker left it before, or
    /// the job has ended.
    async fn leave_shard_to_others(
        &self,
        worker: &WorkerName,
        job: JobId,
        shard: u32,
        until: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Stops leaving a shard to other workers.
    async fn confirm_left_shard(&self, job: JobId, shard: u32) -> Result<(), StoreError>;

    /// Counts a failed audit of an episode's result under a claim. Returns the number of them.
    async fn count_failed_audit(&self, claim: Fence, episode: u32) -> Result<u32, StoreError>;

    /// Reserves space for evidence that a worker sends for a job. Returns false, and reserves nothing, if the sum would
    /// exceed `most`, or the job has ended.
    async fn reserve_worker_evidence(
        &self,
        worker: &WorkerName,
        job: JobId,
        bytes: u64,
        most: u64,
    ) -> Result<bool, StoreError>;
}
