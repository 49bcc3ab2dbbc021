//! One stream: what a client still has to hear.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use assay_model::JobId;
use assay_store::StoreError;
use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use super::hub::{EventHub, StreamMessage};
use super::stream_slots::StreamSlot;
use super::update::{EventFrame, HEARTBEAT, JobEstimate};

/// Events read from the records at a time.
const PAGE: u32 = 100;

/// Where a client is in the job's events.
#[derive(Debug)]
pub(super) struct JobStream {
    pub(super) hub: EventHub,
    pub(super) job: JobId,
    /// The last event that it was told.
    pub(super) told: u32,
    /// To be sent next.
    pub(super) next: VecDeque<Bytes>,
    /// There may be more in the records before what comes next.
    pub(super) behind: bool,
    /// The last event was told.
    pub(super) done: bool,
    pub(super) signals: broadcast::Receiver<StreamMessage>,
    pub(super) heartbeat: Duration,
    pub(super) slot: StreamSlot,
}

impl JobStream {
    /// The stream as a response's body.
    pub(super) fn into_body(self) -> Body {
        Body::from_stream(stream::unfold(self, async |mut stream| {
            let bytes = stream.next().await?;
            Some((Ok::<_, Infallible>(bytes), stream))
        }))
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.next.pop_front() {
                return Some(bytes);
            }
            if self.done || self.slot.has_ended() || self.hub.is_stopping() {
                return None;
            }
            if self.behind {
                // The client comes back with the last id that it got.
                self.catch_up().await.ok()?;
                continue;
            }
            match timeout(self.heartbeat, self.signals.recv()).await {
                Err(_) => return Some(HEARTBEAT),
                Ok(Ok(StreamMessage::Event(frame))) => self.hear(frame),
                Ok(Ok(StreamMessage::Recheck)) => {}
                Ok(Err(RecvError::Lagged(_))) => self.behind = true,
                Ok(Err(RecvError::Closed)) => return None,
            }
        }
    }

    /// What comes right after what was told is told. What the records told before is left out.
    fn hear(&mut self, frame: EventFrame) {
        match frame.number {
            None => self.next.push_back(frame.bytes),
            Some(number) if number == self.told + 1 => self.tell(frame),
            Some(number) => self.behind = number > self.told,
        }
    }

    pub(super) fn tell(&mut self, frame: EventFrame) {
        self.told = frame.number.unwrap_or(self.told);
        self.done = frame.done;
        self.next.push_back(frame.bytes);
    }

    /// Reads on in the records.
    pub(super) async fn catch_up(&mut self) -> Result<(), StoreError> {
        let events = self.hub.0.records.events(self.job, self.told, PAGE).await?;
        self.behind = events.len() == PAGE as usize;
        for event in &events {
            self.tell(EventFrame::kept(event, JobEstimate::default()));
        }
        Ok(())
    }
}
