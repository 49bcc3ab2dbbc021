//! Submissions to the arena. A submission is another kind of job: shards, leases, results and conclusions are the
//! same.

use assay_model::{AccountId, JobId, ScenarioId};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::{JobRecord, NewJob, StoreError};

/// Result of submitting a job to a season.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubmitOutcome {
    /// It is queued.
    Accepted {
        /// Number of its shards.
        shards: u32,
    },
    /// The account has reached its limit for the day.
    TooMany,
    /// The season does not accept submissions.
    NotOpen,
}

/// Result of choosing the submission that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChooseOutcome {
    /// It counts until another one is chosen.
    Done,
    /// It has no result.
    NotCompleted,
    /// Its season no longer accepts changes.
    NotOpen,
    /// There is no such submission (of this account).
    NotFound,
}

/// Repository of submissions and reruns.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait SubmissionRecords {
    /// Accepts a submission to the open season that its header names, unless its account has made `daily` submissions
    /// to that scenario since `day`. FAILED submissions stop counting once their failure is published; cancelled ones
    /// count.
    async fn submit(&self, job: NewJob, daily: u32, day: Timestamp) -> Result<SubmitOutcome, StoreError>;

    /// Makes a COMPLETED submission count for its account from now on, instead of the latest.
    async fn choose_submission(&self, account: Option<&AccountId>, id: JobId) -> Result<ChooseOutcome, StoreError>;

    /// Lists the COMPLETED submissions that count in a season: for each account the chosen one, or the latest. With
    /// `published_by`, only those whose results are published by then ([`assay_model::Grid`]).
    async fn season_standing(
        &self,
        scenario: &ScenarioId,
        season: u32,
        published_by: Option<Timestamp>,
    ) -> Result<Vec<JobRecord>, StoreError>;

    /// Lists a season's reruns with the submissions they repeat.
    async fn reruns(&self, scenario: &ScenarioId, season: u32) -> Result<Vec<(JobId, JobRecord)>, StoreError>;
}
