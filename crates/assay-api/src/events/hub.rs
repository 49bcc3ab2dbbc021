//! Distribution of new events to all streams that follow a job.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_model::{AccountId, Clock, JobId};
use assay_store::{LiveProgress, Records, Site, StoreError};
use tokio::sync::{Mutex, Notify, broadcast};

use super::channels::{HubState, JobChannel, LastProgress, StreamMessage};
use super::stream_slots::StreamSlots;
use super::update::JobEstimate;
use super::{progress, tail};
use crate::QueueForecast;

/// Maximum number of buffered messages per job; a reader that falls further behind reads the records.
const CAPACITY: usize = 16;

/// Passes events on within this process; shared by all its clones.
#[derive(Debug, Clone)]
pub struct EventHub(pub(super) Arc<HubState>);

impl EventHub {
    /// Creates a hub without streams.
    #[must_use]
    pub fn new(
        records: Arc<dyn Records>,
        clock: Arc<dyn Clock>,
        forecast: QueueForecast,
        live: LiveProgress,
        site: Site,
    ) -> Self {
        Self(Arc::new(HubState {
            records,
            clock,
            forecast,
            live,
            jobs: Mutex::default(),
            slots: StreamSlots::new(site),
            recheck: Notify::new(),
            stopping: AtomicBool::new(false),
        }))
    }

    /// Ends all streams and refuses new ones.
    pub(crate) fn stop(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
        self.0.recheck.notify_one();
    }

    /// Ends streams whose key was revoked or whose session was closed.
    pub(crate) fn recheck_streams(&self) {
        self.0.recheck.notify_one();
    }

    /// Returns the number of open streams of this server by account.
    pub(crate) fn streams(&self) -> BTreeMap<AccountId, usize> {
        self.0.slots.by_account()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Relaxed)
    }

    /// Subscribes to a job from now on: an event that is not in the records yet will be received. Steps of running
    /// episodes are sent if `with_steps`.
    pub(super) async fn subscribe(
        &self,
        job: JobId,
        with_steps: bool,
    ) -> Result<broadcast::Receiver<StreamMessage>, StoreError> {
        let mut jobs = self.0.jobs.lock().await;
        if !jobs.tailed {
            jobs.tailed = true;
            tokio::spawn(tail::run(Arc::clone(&self.0)));
        }
        if let Some(channel) = jobs.channels.get(&job) {
            return Ok(channel.sender.subscribe());
        }
        let (sender, receiver) = broadcast::channel(CAPACITY);
        let last = self.0.records.last_event(job).await?;
        let estimate = match &last {
            Some(event) => progress::estimate(&self.0.forecast, event).await?,
            None => JobEstimate::default(),
        };
        jobs.channels.insert(job, JobChannel { sender, last, last_progress: LastProgress::of(estimate), with_steps });
        Ok(receiver)
    }
}
