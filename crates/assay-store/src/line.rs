//! Who waits, who is at work, and how long that takes: what is needed to tell how long it takes until a job's end.

use std::fmt;
use std::sync::Arc;

use assay_model::{AccountId, JobId, ScenarioId};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;

/// A shard that waits or is worked on.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenShard {
    /// The job.
    pub job_id: JobId,
    /// Nobody has taken anything of the job yet.
    pub is_queued_job: bool,
    /// Whose it is. One text for all shards of the account: a line may be long.
    pub account: Arc<AccountId>,
    /// When its account was last given a shard, counted in shards given; 0 for never.
    pub turn: u64,
    /// What it runs on.
    pub scenario: Arc<ScenarioId>,
    /// Its policy is a server.
    pub remote: bool,
    /// Episodes it lacks.
    pub episodes_left: u32,
    /// When it was taken or recorded its last result; `None` while it waits.
    pub since: Option<Timestamp>,
}

/// A submission to a season that is not closed, as far as others may know of it: what its shards do is hidden, and what
/// depends on them counts by what is published.
#[derive(Debug, Clone, PartialEq)]
pub struct HiddenSubmission {
    /// The job.
    pub job_id: JobId,
    /// Whose it is.
    pub account: Arc<AccountId>,
    /// What it runs on.
    pub scenario: Arc<ScenarioId>,
    /// Episodes that it has in all.
    pub episodes: u32,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When its first shard was taken.
    pub started_at: Option<Timestamp>,
    /// When its last episode was recorded.
    pub judging_at: Option<Timestamp>,
}

/// How long an episode takes here.
#[derive(Debug, Clone, PartialEq)]
pub struct EpisodeDuration {
    /// Of this scenario.
    pub scenario: ScenarioId,
    /// With a policy server.
    pub remote: bool,
    /// From one result of a shard to the next, or from taking it to the first: a mean in which the last ones count most.
    pub seconds: f64,
}

/// Everything that is not done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QueueSnapshot {
    /// Oldest job first, then by shard; without those of submissions.
    pub shards: Vec<OpenShard>,
    /// The submissions whose end is not published, oldest first.
    pub hidden: Vec<HiddenSubmission>,
    /// The QUEUED jobs that are younger than those of the shards, where not all that wait were looked at, oldest first.
    pub later: Vec<JobId>,
    /// As far as measured.
    pub paces: Vec<EpisodeDuration>,
    /// How long drawing a conclusion took lately, in s; submissions apart.
    pub conclusion_s: Option<f64>,
}

/// The part of the records that tells what is ahead.
#[async_trait]
pub trait QueueReader: Send + Sync + fmt::Debug {
    /// All shards that wait or are worked on, but at most `limit` of those that wait (the oldest), and at most ten times
    /// as many `later` jobs. As it is at `now`, which says which ends of submissions are published.
    async fn queue_snapshot(&self, limit: u32, now: Timestamp) -> Result<QueueSnapshot, StoreError>;

    /// How many QUEUED jobs are as old as `last` or older, itself included, and younger than `after`; submissions apart.
    async fn queued_between(&self, after: Option<JobId>, last: JobId) -> Result<u32, StoreError>;
}
