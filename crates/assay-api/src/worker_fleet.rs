//! The workers on other hosts as a whole: how many lanes they have, and waking those that wait for a shard.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_model::Fence;
use assay_store::{Queue, Records, StoreError, Work, WorkerState};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::time::Instant;

/// Maximum number of claims whose evidence is counted.
const MAX_CLAIMS: usize = 10_000;
/// Time since its last call after which a worker no longer counts.
const ABSENT: SignedDuration = SignedDuration::from_secs(90);
/// Time for which workers that wait share a look into the records.
const SHARED: Duration = Duration::from_secs(1);

/// The workers on other hosts. Shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct WorkerFleet(Arc<FleetState>);

#[derive(Debug, Default)]
struct FleetState {
    /// Wakes workers that wait for shards whose policies they run.
    policies: Notify,
    /// Wakes those that wait for jobs of policy servers.
    servers: Notify,
    /// The last look into the records for queued shards, and whether there was one.
    looked: AsyncMutex<Option<(Instant, bool)>>,
    lanes: AtomicU32,
    /// Bytes of evidence that were sent under each claim.
    evidence: Mutex<HashMap<Fence, u64>>,
}

impl WorkerFleet {
    /// Returns the number of lanes of the workers that called lately.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.0.lanes.load(Ordering::Relaxed)
    }

    /// Counts the lanes of the workers that called lately.
    pub(crate) async fn count(&self, records: &dyn Records, now: Timestamp) -> Result<(), StoreError> {
        let workers = records.workers().await?;
        let present = workers.iter().filter(|worker| {
            worker.state == WorkerState::Active
                && worker.is_admitted(now)
                && worker.seen_at.is_some_and(|seen| now.duration_since(seen) < ABSENT)
        });
        let lanes = present.filter_map(|worker| Some(worker.registration.as_ref()?.lanes));
        self.0.lanes.store(lanes.fold(0, u32::saturating_add), Ordering::Relaxed);
        Ok(())
    }

    /// Counts bytes of evidence sent under a claim; returns false, and counts nothing, if they would exceed `most`.
    pub(crate) fn charge(&self, claim: Fence, bytes: u64, most: u64) -> bool {
        let mut sent = self.0.evidence.lock().unwrap_or_else(PoisonError::into_inner);
        if sent.len() >= MAX_CLAIMS {
            // Claims that have ended long ago are not told apart; a running one begins to count again.
            sent.clear();
        }
        let total = sent.entry(claim).or_default();
        let fits = total.saturating_add(bytes) <= most;
        *total += if fits { bytes } else { 0 };
        fits
    }

    /// Takes back bytes that were counted by [`Self::charge`], because they were not stored.
    pub(crate) fn refund(&self, claim: Fence, bytes: u64) {
        let mut sent = self.0.evidence.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(total) = sent.get_mut(&claim) {
            *total = total.saturating_sub(bytes);
        }
    }

    /// Wakes one waiting worker of each kind: the kind of the new shard is not known here.
    fn wake(&self) {
        self.0.policies.notify_one();
        self.0.servers.notify_one();
    }

    /// Wakes all waiting workers, since the state of one has changed.
    pub(crate) fn wake_all(&self) {
        self.0.policies.notify_waiters();
        self.0.servers.notify_waiters();
    }

    /// Returns true if a shard is, or lately was, queued. Many workers may ask at the same time.
    pub(crate) async fn sees_work(&self, records: &dyn Records) -> Result<bool, StoreError> {
        let mut looked = self.0.looked.lock().await;
        match *looked {
            Some((at, found)) if at.elapsed() < SHARED => Ok(found),
            _ => {
                let found = !records.claimable(1).await?.is_empty();
                *looked = Some((Instant::now(), found));
                Ok(found)
            }
        }
    }

    /// Waits until woken, at most for `limit`. Returns true if it was: for a shard, or a worker's new state.
    pub(crate) async fn wait(&self, is_server: bool, limit: Duration) -> bool {
        let notify = if is_server { &self.0.servers } else { &self.0.policies };
        tokio::time::timeout(limit, notify.notified()).await.is_ok()
    }
}

/// A queue that also wakes workers on other hosts.
#[derive(Debug)]
pub struct WakingQueue {
    queue: Arc<dyn Queue>,
    fleet: WorkerFleet,
}

impl WakingQueue {
    /// Creates a queue that passes everything on to `queue`.
    #[must_use]
    pub fn new(queue: Arc<dyn Queue>, fleet: WorkerFleet) -> Self {
        Self { queue, fleet }
    }
}

#[async_trait]
impl Queue for WakingQueue {
    async fn publish(&self, work: Work) {
        if matches!(work, Work::Shard { .. }) {
            self.fleet.wake();
        }
        self.queue.publish(work).await;
    }

    async fn next(&self, timeout: Duration) -> Option<Work> {
        self.queue.next(timeout).await
    }
}
