//! Snapshot of the queue as input of a forecast: waiting and running shards, and the durations of episodes.

use std::sync::Arc;

use assay_model::{AccountId, JobId, ScenarioId};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;

/// A queued or running shard.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenShard {
    /// The job.
    pub job_id: JobId,
    /// True if the job is QUEUED: none of its shards has been claimed yet.
    pub is_queued_job: bool,
    /// The job's account. Shared by all shards of the account, since a queue may be long.
    pub account: Arc<AccountId>,
    /// Position of the last claim of its account in the sequence of all claims; 0 if it has none.
    pub turn: u64,
    /// Its scenario.
    pub scenario: Arc<ScenarioId>,
    /// True if its policy is a server.
    pub remote: bool,
    /// Number of episodes without a result.
    pub episodes_left: u32,
    /// Time of its claim or of its last result; `None` while it waits.
    pub since: Option<Timestamp>,
}

/// A submission to a season that is not closed, as published: the state of its shards is hidden, and everything that
/// depends on them follows from what is published.
#[derive(Debug, Clone, PartialEq)]
pub struct HiddenSubmission {
    /// The job.
    pub job_id: JobId,
    /// Its account.
    pub account: Arc<AccountId>,
    /// Its scenario.
    pub scenario: Arc<ScenarioId>,
    /// Total number of its episodes.
    pub episodes: u32,
    /// Time of acceptance.
    pub created_at: Timestamp,
    /// Time at which its first shard was claimed.
    pub started_at: Option<Timestamp>,
    /// Time at which its last episode was recorded.
    pub judging_at: Option<Timestamp>,
}

/// Measured duration of an episode.
#[derive(Debug, Clone, PartialEq)]
pub struct EpisodeDuration {
    /// The scenario.
    pub scenario: ScenarioId,
    /// True if the policy is a server.
    pub remote: bool,
    /// Time from one result of a shard to the next, or from its claim to its first result, in s: a moving mean.
    pub seconds: f64,
}

/// All work that is not done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueueSnapshot {
    /// Shards by age of their job, then by index; without those of submissions.
    pub shards: Vec<OpenShard>,
    /// Submissions whose end is not published, oldest first.
    pub hidden: Vec<HiddenSubmission>,
    /// QUEUED jobs younger than those of `shards`, oldest first, if the limit left some out.
    pub later: Vec<JobId>,
    /// Measured durations.
    pub episode_durations: Vec<EpisodeDuration>,
    /// Moving mean of the time from the last result to the conclusion, in s; without submissions.
    pub conclusion_s: Option<f64>,
}

/// Read access to the queue of all jobs.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait QueueReader {
    /// Returns all running shards, the `limit` oldest waiting ones, and at most ten times as many `later` jobs. `now`
    /// decides which ends of submissions are published.
    async fn queue_snapshot(&self, limit: u32, now: Timestamp) -> Result<QueueSnapshot, StoreError>;

    /// Counts the QUEUED jobs, without submissions, that are younger than `after` and not younger than `last`.
    async fn queued_between(&self, after: Option<JobId>, last: JobId) -> Result<u32, StoreError>;
}
