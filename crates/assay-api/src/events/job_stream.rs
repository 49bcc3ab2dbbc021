//! The event stream of one client that follows a job.

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

use super::channels::StreamMessage;
use super::hub::EventHub;
use super::stream_slots::StreamSlot;
use super::update::{EventFrame, HEARTBEAT, JobEstimate};

/// Number of events read from the records per query.
const PAGE: u32 = 100;

/// The position of a client in the events of a job.
#[derive(Debug)]
pub(super) struct JobStream {
    pub(super) hub: EventHub,
    pub(super) job: JobId,
    /// The number of the last event that was sent.
    pub(super) last_sent: u32,
    /// Bytes to send next.
    pub(super) next: VecDeque<Bytes>,
    /// True if the records may contain events before the next one received.
    pub(super) behind: bool,
    /// True if the job's last event was sent.
    pub(super) done: bool,
    pub(super) messages: broadcast::Receiver<StreamMessage>,
    pub(super) heartbeat: Duration,
    pub(super) slot: StreamSlot,
}

impl JobStream {
    /// Converts the stream to a response body.
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
                // On an error the stream ends, and the client reconnects with the last id that it received.
                self.catch_up().await.ok()?;
                continue;
            }
            match timeout(self.heartbeat, self.messages.recv()).await {
                Err(_) => return Some(HEARTBEAT),
                Ok(Ok(StreamMessage::Event(frame))) => self.receive(frame),
                Ok(Ok(StreamMessage::Recheck)) => {}
                Ok(Err(RecvError::Lagged(_))) => self.behind = true,
                Ok(Err(RecvError::Closed)) => return None,
            }
        }
    }

    /// Sends an event that directly follows the last one sent; skips one that was already read from the records.
    fn receive(&mut self, frame: EventFrame) {
        match frame.number {
            None => self.next.push_back(frame.bytes),
            Some(number) if number == self.last_sent + 1 => self.push(frame),
            Some(number) => self.behind = number > self.last_sent,
        }
    }

    pub(super) fn push(&mut self, frame: EventFrame) {
        self.last_sent = frame.number.unwrap_or(self.last_sent);
        self.done = frame.done;
        self.next.push_back(frame.bytes);
    }

    /// Reads further events from the records.
    pub(super) async fn catch_up(&mut self) -> Result<(), StoreError> {
        let events = self.hub.0.records.events(self.job, self.last_sent, PAGE).await?;
        self.behind = events.len() == PAGE as usize;
        for event in &events {
            self.push(EventFrame::recorded(event, JobEstimate::default()));
        }
        Ok(())
    }
}
