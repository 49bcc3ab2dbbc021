//! Queue that wakes workers.

use std::fmt;
use std::time::Duration;

use assay_model::JobId;
use async_trait::async_trait;

/// A hint that work can be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Work {
    /// A shard of a job was queued.
    Shard {
        /// The job.
        job_id: JobId,
        /// Index of the shard.
        shard: u32,
    },
    /// A job is JUDGING.
    Conclusion {
        /// The job.
        job_id: JobId,
    },
}

/// A queue of hints that wakes workers. The records are authoritative: a queue may lose or repeat any message, so a
/// worker claims from [`crate::Records`] regardless of the hint's content, and also if it received none for a while.
#[async_trait]
pub trait Queue: Send + Sync + fmt::Debug {
    /// Wakes one worker. Never blocks and never fails: a hint that cannot be delivered is dropped.
    async fn publish(&self, work: Work);

    /// Returns the next hint, or `None` after `timeout`.
    async fn next(&self, timeout: Duration) -> Option<Work>;
}
