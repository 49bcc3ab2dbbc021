//! The last step of a job: once all episodes are recorded, a worker computes the verdict and writes it.

use assay_model::{AccountId, Artifact, Conclusion, EpisodeResult, Fingerprint, JobHeader, JobId, Judgement};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::{Lease, ReturnOutcome, StoreError};

/// The right to write a job's conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConclusionFence {
    /// The job.
    pub job_id: JobId,
    /// Number of this claim of the job's conclusion, from 1.
    pub attempt: u32,
}

/// A JUDGING job to conclude.
#[derive(Debug, Clone, PartialEq)]
pub struct ConclusionClaim {
    /// Must be presented with the outcome.
    pub fence: ConclusionFence,
    /// The job's account.
    pub account: AccountId,
    /// The job.
    pub header: JobHeader,
    /// The archive, relative to the data folder.
    pub policy_path: Option<String>,
    /// All its episodes, by index.
    pub episodes: Vec<EpisodeResult>,
    /// The machine that it is pinned to; `None` if it ran on the server in an earlier version.
    pub machine: Option<Fingerprint>,
}

/// Result of a completed job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobOutcome {
    /// Verdict, scores, statistics.
    pub conclusion: Conclusion,
    /// Engine, libraries and machine that the numbers depend on.
    pub fingerprint: Fingerprint,
}

/// The signed documents of a completed job, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedDocuments {
    /// The report, as JSON.
    pub report: Vec<u8>,
    /// The statement about it, in its envelope.
    pub statement: Vec<u8>,
}

/// One of the documents of [`SignedDocuments`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedDocument {
    /// [`SignedDocuments::report`].
    Report,
    /// [`SignedDocuments::statement`].
    Statement,
}

/// Repository of conclusions.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait ConclusionRecords {
    /// Claims the oldest JUDGING job without a lease, until `now + lease`.
    async fn claim_conclusion(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<ConclusionClaim>, StoreError>;

    /// Extends the lease of a conclusion.
    async fn heartbeat_conclusion(
        &self,
        fence: ConclusionFence,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Lease, StoreError>;

    /// Returns a conclusion to the queue; with a `reason` it counts as a failure, as in
    /// [`crate::ShardRecords::fail_shard`].
    async fn return_conclusion(
        &self,
        fence: ConclusionFence,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<ReturnOutcome, StoreError>;

    /// Adds the vision judge's assessment and the frames it saw to an episode, without changing anything measured.
    /// Returns false if the claim is no longer valid.
    async fn add_judgement(
        &self,
        fence: ConclusionFence,
        episode: u32,
        judgement: Judgement,
        frames: Vec<Artifact>,
    ) -> Result<bool, StoreError>;

    /// Writes the outcome and the signed documents: JUDGING becomes COMPLETED. Returns false if the claim is no longer
    /// valid.
    async fn complete_job(
        &self,
        fence: ConclusionFence,
        outcome: JobOutcome,
        signed: SignedDocuments,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Returns a signed document of a job; `None` before the job is COMPLETED and once it has been erased.
    async fn signed_document(&self, job: JobId, document: SignedDocument) -> Result<Option<Vec<u8>>, StoreError>;
}
