//! Wakes workers on other hosts that wait for a shard.

use std::sync::Arc;
use std::time::Duration;

use assay_store::{Queue, Work};
use async_trait::async_trait;
use tokio::sync::Notify;

/// Wakes waiting workers, each time one. Shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct WorkerWakeups(Arc<Notify>);

impl WorkerWakeups {
    /// Wakes one waiting worker; without one, the next that waits does not.
    pub(crate) fn wake(&self) {
        self.0.notify_one();
    }

    /// Waits until woken, at most for `limit`.
    pub(super) async fn wait(&self, limit: Duration) {
        // A worker looks again in either case.
        drop(tokio::time::timeout(limit, self.0.notified()).await);
    }
}

/// A queue that also wakes workers on other hosts.
#[derive(Debug)]
pub struct WakingQueue {
    queue: Arc<dyn Queue>,
    wakeups: WorkerWakeups,
}

impl WakingQueue {
    /// Creates a queue that passes everything on to `queue`.
    #[must_use]
    pub fn new(queue: Arc<dyn Queue>, wakeups: WorkerWakeups) -> Self {
        Self { queue, wakeups }
    }
}

#[async_trait]
impl Queue for WakingQueue {
    async fn publish(&self, work: Work) {
        if matches!(work, Work::Shard { .. }) {
            self.wakeups.wake();
        }
        self.queue.publish(work).await;
    }

    async fn next(&self, timeout: Duration) -> Option<Work> {
        self.queue.next(timeout).await
    }
}
