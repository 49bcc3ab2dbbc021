//! The trait of the wake-up line.

use std::fmt;
use std::time::Duration;

use assay_model::JobId;
use async_trait::async_trait;

/// A hint that there is something to claim.
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

/// Wakes workers. The records are the truth: a queue may lose or repeat any message, so a worker claims from
/// [`crate::Records`] whatever the hint says, and also when none came for a while.
#[async_trait]
pub trait Queue: Send + Sync + fmt::Debug {
    /// Wakes one worker. Never waits and never fails: what cannot be delivered is dropped.
    async fn publish(&self, work: Work);

    /// The next hint, or `None` after `timeout`.
    async fn next(&self, timeout: Duration) -> Option<Work>;
}
