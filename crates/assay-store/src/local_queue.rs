//! The queue of a single process.

use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Mutex, mpsc};

use crate::{Queue, Work};

/// Maximum number of queued hints. Further ones are dropped: the workers are busy then, and poll when they are done.
const CAPACITY: usize = 4096;

/// A bounded queue in memory.
#[derive(Debug)]
pub struct LocalQueue {
    sender: mpsc::Sender<Work>,
    receiver: Mutex<mpsc::Receiver<Work>>,
}

impl LocalQueue {
    /// Creates an empty queue.
    #[must_use]
    pub fn new() -> Self {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        Self { sender, receiver: Mutex::new(receiver) }
    }
}

impl Default for LocalQueue {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Queue for LocalQueue {
    async fn publish(&self, work: Work) {
        if self.sender.try_send(work).is_err() {
            tracing::debug!(?work, "hint dropped: queue is full, and workers will find the work in the records");
        }
    }

    async fn next(&self, timeout: Duration) -> Option<Work> {
        let receive = async { self.receiver.lock().await.recv().await };
        tokio::time::timeout(timeout, receive).await.ok().flatten()
    }
}
