//! The last step of a job: all episodes are in, the verdict is drawn and written.

use assay_model::{AccountId, Conclusion, EpisodeResult, Fingerprint, JobHeader, JobId};

/// The right to write a job's conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConclusionFence {
    /// The job.
    pub job_id: JobId,
    /// Which claim of its conclusion this is, from 1.
    pub attempt: u32,
}

/// A JUDGING job to conclude.
#[derive(Debug, Clone, PartialEq)]
pub struct ConclusionClaim {
    /// What to show with the outcome.
    pub fence: ConclusionFence,
    /// Whose job it is.
    pub account: AccountId,
    /// The job.
    pub header: JobHeader,
    /// The archive, relative to the data folder.
    pub policy_path: Option<String>,
    /// All its episodes, by index.
    pub episodes: Vec<EpisodeResult>,
}

/// What a completed job found.
#[derive(Debug, Clone, PartialEq)]
pub struct JobOutcome {
    /// Verdict, scores, statistics.
    pub conclusion: Conclusion,
    /// What the numbers depend on.
    pub fingerprint: Fingerprint,
}

/// What was signed of a completed job, byte for byte.
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
