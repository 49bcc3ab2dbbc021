//! Passing on what happens, to everybody who follows it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_model::{Clock, JobId};
use assay_store::{EventRecord, Live, Records, StoreError};
use tokio::sync::{Mutex, Notify, broadcast};
use tokio::time::Instant;

use super::progress;
use super::stream_slots::StreamSlots;
use super::tail;
use super::update::{EventFrame, JobEstimate};
use crate::QueueForecast;

/// Frames of a job that are kept for slow readers; one that is further behind reads the records.
const CAPACITY: usize = 16;

/// Passes events on within this process; shared by all its clones.
#[derive(Debug, Clone)]
pub struct EventHub(pub(super) Arc<HubState>);

#[derive(Debug)]
pub(super) struct HubState {
    pub(super) records: Arc<dyn Records>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) forecast: QueueForecast,
    pub(super) live: Arc<dyn Live>,
    pub(super) jobs: Mutex<FollowedJobs>,
    pub(super) slots: StreamSlots,
    /// Somebody wants open streams to be looked at: a key was revoked, or the service stops.
    pub(super) recheck: Notify,
    pub(super) stopping: AtomicBool,
}

/// Those that are followed.
#[derive(Debug, Default)]
pub(super) struct FollowedJobs {
    pub(super) channels: HashMap<JobId, JobChannel>,
    /// A task reads events for them.
    pub(super) tailed: bool,
}

/// A job that is followed.
#[derive(Debug)]
pub(super) struct JobChannel {
    pub(super) sender: broadcast::Sender<StreamMessage>,
    /// What happened last, as far as was passed on.
    pub(super) last: Option<EventRecord>,
    /// What was last_progress of it between events.
    pub(super) last_progress: LastProgress,
    /// How far its running episodes are may be told.
    pub(super) with_steps: bool,
}

/// Progress, as it was told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LastProgress {
    pub(super) estimate: JobEstimate,
    pub(super) message: Option<String>,
    pub(super) at: Instant,
}

/// What a stream hears.
#[derive(Debug, Clone)]
pub(super) enum StreamMessage {
    /// Something to send.
    Event(EventFrame),
    /// To look whether it may go on.
    Recheck,
}

impl LastProgress {
    /// By the event itself.
    pub(super) fn of(estimate: JobEstimate) -> Self {
        Self { estimate, message: None, at: Instant::now() }
    }
}

impl EventHub {
    /// Nobody follows anything yet.
    #[must_use]
    pub fn new(records: Arc<dyn Records>, clock: Arc<dyn Clock>, forecast: QueueForecast, live: Arc<dyn Live>) -> Self {
        Self(Arc::new(HubState {
            records,
            clock,
            forecast,
            live,
            jobs: Mutex::default(),
            slots: StreamSlots::default(),
            recheck: Notify::new(),
            stopping: AtomicBool::new(false),
        }))
    }

    /// Ends all streams and opens no more.
    pub(crate) fn stop(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
        self.0.recheck.notify_one();
    }

    /// A key was revoked, or somebody signed out: streams that were opened with it end now.
    pub(crate) fn recheck_streams(&self) {
        self.0.recheck.notify_one();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Relaxed)
    }

    /// Hears what happens to a job from now on: an event that is not in the records yet will come.
    /// Steps of running episodes are told if `with_steps`.
    pub(super) async fn subscribe(
        &self,
        job: JobId,
        with_steps: bool,
    ) -> Result<broadcast::Receiver<StreamMessage>, StoreError> {
        let mut jobs = self.0.jobs.lock().await;
        if !jobs.tailed {
            let newest = self.0.records.newest_event().await?;
            jobs.tailed = true;
            tokio::spawn(tail::run(Arc::clone(&self.0), newest));
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
