//! Events: the history of jobs, for clients that follow them.

use assay_model::{JobId, JobStatus, Verdict};
use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::StoreError;

/// A change of a job's state, or the end of one of its episodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// The job.
    pub job_id: JobId,
    /// Number within the job, from 1, without gaps.
    pub number: u32,
    /// Time of the event.
    pub at: Timestamp,
    /// The job's state after the event.
    pub status: JobStatus,
    /// The verdict, once there is one.
    pub verdict: Option<Verdict>,
    /// Number of episodes recorded at that time.
    pub episodes_done: u32,
    /// Number of episodes of the job at that time; a failing certification has fewer afterwards.
    pub episodes_total: u32,
    /// Message of a FAILED job.
    pub failure: Option<String>,
}

/// The position of a reader in the events of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPosition {
    /// The job.
    pub job_id: JobId,
    /// The number of the last event that the reader has; 0 before the first.
    pub after: u32,
}

/// Repository of events. An event is written in the transaction of the change it describes, so there is exactly one for
/// each change.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait EventRecords {
    /// Lists the events of a job after its event `after` (0 for all), oldest first, at most `limit`.
    async fn events(&self, job: JobId, after: u32, limit: u32) -> Result<Vec<EventRecord>, StoreError>;

    /// Returns a job's last event; `None` if there is no such job.
    async fn last_event(&self, job: JobId) -> Result<Option<EventRecord>, StoreError>;

    /// Lists the events of several jobs after the given positions, at most `limit` in all: job by job in the given
    /// order, those of a job oldest first.
    async fn events_of(&self, positions: &[EventPosition], limit: u32) -> Result<Vec<EventRecord>, StoreError>;

    /// Returns a channel that is marked when there may be new events. A hint that may be late, missing or wrong; only
    /// the events themselves are authoritative.
    fn changes(&self) -> watch::Receiver<()>;
}
