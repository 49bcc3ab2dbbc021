//! The shared state of the event hub: the channels of all followed jobs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_model::{Clock, JobId};
use assay_store::{EventRecord, LiveProgress, Records};
use tokio::sync::{Mutex, Notify, broadcast};
use tokio::time::Instant;

use super::stream_slots::StreamSlots;
use super::update::{EventFrame, JobEstimate};
use crate::QueueForecast;

#[derive(Debug)]
pub(super) struct HubState {
    pub(super) records: Arc<dyn Records>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) forecast: QueueForecast,
    pub(super) live: LiveProgress,
    pub(super) jobs: Mutex<FollowedJobs>,
    pub(super) slots: StreamSlots,
    /// Requests a recheck of all open streams: a key was revoked, or the service is stopping.
    pub(super) recheck: Notify,
    pub(super) stopping: AtomicBool,
}

/// The jobs that are followed.
#[derive(Debug, Default)]
pub(super) struct FollowedJobs {
    pub(super) channels: HashMap<JobId, JobChannel>,
    /// True if the task that reads new events is running.
    pub(super) tailed: bool,
}

/// The channel of a followed job.
#[derive(Debug)]
pub(super) struct JobChannel {
    pub(super) sender: broadcast::Sender<StreamMessage>,
    /// The last event that was passed on.
    pub(super) last: Option<EventRecord>,
    /// The last progress that was sent between events.
    pub(super) last_progress: LastProgress,
    /// True if steps of running episodes may be published.
    pub(super) with_steps: bool,
}

/// Progress as it was last sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LastProgress {
    pub(super) estimate: JobEstimate,
    pub(super) message: Option<String>,
    pub(super) at: Instant,
}

/// A message to the streams of a job.
#[derive(Debug, Clone)]
pub(super) enum StreamMessage {
    /// An event to send.
    Event(EventFrame),
    /// A request to check whether the stream may continue.
    Recheck,
}

impl LastProgress {
    /// Creates the progress that an event itself reports.
    pub(super) fn of(estimate: JobEstimate) -> Self {
        Self { estimate, message: None, at: Instant::now() }
    }
}

impl JobChannel {
    pub(super) fn send(&self, message: StreamMessage) {
        // Sending fails only if no stream is left, and then nothing needs the message.
        let _ = self.sender.send(message);
    }
}
