//! What happened to jobs, kept for those who follow them.

use std::fmt;

use assay_model::{JobId, JobStatus, Verdict};
use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::StoreError;

/// A change of a job's state, or the end of one of its episodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// Which one it is of all jobs' events; later ones have higher numbers.
    pub event: u64,
    /// Whose it is.
    pub job_id: JobId,
    /// Which one it is of the job's, from 1, without gaps.
    pub number: u32,
    /// When it happened.
    pub at: Timestamp,
    /// The job's state from then on.
    pub status: JobStatus,
    /// What was found.
    pub verdict: Option<Verdict>,
    /// Episodes recorded then.
    pub episodes_done: u32,
    /// Episodes that the job had then; a certification that fails has fewer from there on.
    pub episodes_total: u32,
    /// What is told of a job that FAILED.
    pub failure: Option<String>,
}

/// The part of the records that those who follow jobs read. An event is written in the transaction of the change that it
/// tells of: there is no change without one, and none without a change.
#[async_trait]
pub trait EventRecords: Send + Sync + fmt::Debug {
    /// What happened to a job after its event `after` (0: from its beginning), oldest first, at most `limit`.
    async fn events(&self, job: JobId, after: u32, limit: u32) -> Result<Vec<EventRecord>, StoreError>;

    /// The last thing that happened to a job; `None` if there is no such job.
    async fn last_event(&self, job: JobId) -> Result<Option<EventRecord>, StoreError>;

    /// The number of the last event of all jobs, 0 before the first.
    async fn newest_event(&self) -> Result<u64, StoreError>;

    /// What happened to all jobs after `event`, oldest first, at most `limit`.
    async fn events_after(&self, event: u64, limit: u32) -> Result<Vec<EventRecord>, StoreError>;

    /// Marked when something may have happened. A hint that may be late, missing or wrong: the events are the truth.
    fn changes(&self) -> watch::Receiver<()>;
}
