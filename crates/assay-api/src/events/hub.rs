//! Passing on what happens, to everybody who follows it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_model::{Clock, JobId};
use assay_store::{EventRecord, KeyId, Records, StoreError};
use tokio::sync::{Mutex, Notify, broadcast};

use super::places::Places;
use super::tail;
use super::update::Frame;

/// Frames of a job that are kept for slow readers; one that is further behind reads the records.
const CAPACITY: usize = 16;

/// Passes events on within this process; shared by all its clones.
#[derive(Debug, Clone)]
pub struct EventHub(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) records: Arc<dyn Records>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) jobs: Mutex<Jobs>,
    pub(super) places: Places,
    /// Somebody wants open streams to be looked at: a key was revoked, or the service stops.
    pub(super) look: Notify,
    pub(super) stopping: AtomicBool,
}

/// Those that are followed.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    pub(super) channels: HashMap<JobId, Channel>,
    /// A task reads events for them.
    pub(super) tailed: bool,
}

/// A job that is followed.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) sender: broadcast::Sender<Signal>,
    /// What happened last, as far as was passed on.
    pub(super) last: Option<EventRecord>,
}

/// What a stream hears.
#[derive(Debug, Clone)]
pub(super) enum Signal {
    /// Something to send.
    Frame(Frame),
    /// To look whether it may go on.
    Look,
}

impl EventHub {
    /// Nobody follows anything yet.
    #[must_use]
    pub fn new(records: Arc<dyn Records>, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            records,
            clock,
            jobs: Mutex::default(),
            places: Places::default(),
            look: Notify::new(),
            stopping: AtomicBool::new(false),
        }))
    }

    /// Ends all streams and opens no more.
    pub(crate) fn stop(&self) {
        self.0.stopping.store(true, Ordering::Relaxed);
        self.0.look.notify_one();
    }

    /// The streams of this key are looked at now.
    pub(crate) fn end_streams_of(&self, key: &KeyId) {
        self.0.places.end(key);
        self.0.look.notify_one();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Relaxed)
    }

    /// Hears what happens to a job from now on: an event that is not in the records yet will come.
    pub(super) async fn subscribe(&self, job: JobId) -> Result<broadcast::Receiver<Signal>, StoreError> {
        let mut jobs = self.0.jobs.lock().await;
        if !jobs.tailed {
            let newest = self.0.records.newest_event().await?;
            jobs.tailed = true;
            tokio::spawn(tail::run(Arc::clone(&self.0), newest));
        }
        let channel = jobs.channels.entry(job);
        let channel = channel.or_insert_with(|| Channel { sender: broadcast::channel(CAPACITY).0, last: None });
        Ok(channel.sender.subscribe())
    }
}
