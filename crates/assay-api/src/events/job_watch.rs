//! Watches the credential of a long connection that is not an event stream, and its job.

use assay_model::{JobId, JobKind};
use assay_store::JobRecord;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::channels::StreamMessage;
use super::stream_slots::StreamSlot;
use crate::http::{ApiError, Caller};
use crate::state::App;

/// The watch of a connection, which counts as one of the account's event streams.
#[derive(Debug)]
pub(crate) struct JobWatch {
    slot: StreamSlot,
    messages: broadcast::Receiver<StreamMessage>,
}

impl JobWatch {
    /// Begins to watch a connection of `caller` about a job.
    ///
    /// # Errors
    /// 429 or 503 if too many streams are open.
    pub(crate) async fn begin(app: &App, caller: &Caller, record: &JobRecord) -> Result<Self, ApiError> {
        let hub = &app.events;
        let job: JobId = record.header.job_id;
        let slot = hub.0.slots.acquire(caller, app.settings.account.streams, app.settings.events.max_streams)?;
        let messages = hub.subscribe(job, record.header.kind() == JobKind::Verify).await?;
        Ok(Self { slot, messages })
    }

    /// Returns when the credential has become invalid, or the job has ended. The end of the service is not waited for:
    /// it finishes running episodes first.
    pub(crate) async fn ended(&mut self) {
        loop {
            if self.slot.has_ended() {
                return;
            }
            match self.messages.recv().await {
                Ok(StreamMessage::Event(frame)) if frame.done => return,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return std::future::pending().await,
            }
        }
    }
}
