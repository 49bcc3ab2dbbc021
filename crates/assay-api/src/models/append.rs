//! Receives a piece of a model.

use assay_model::ModelUploadId;
use assay_store::{ModelRecord, ModelState};
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use http_body::Body as _;
use http_body_util::BodyExt;

use super::announce::expiry;
use super::finish::{finish, is_adopted};
use super::offset_header::UPLOAD_OFFSET;
use super::partial_file::PartialFile;
use super::transfers::ModelTransfer;
use crate::disk::{available_bytes, disk_error};
use crate::http::{ApiError, Caller, ErrorCode};
use crate::state::App;
use crate::upload::BodyTimer;
use crate::upload_space::{Reservation, Uploader};

/// Number of bytes that are buffered before they are written.
const BUFFER_BYTES: usize = 1 << 20;
/// Number of bytes after which what was received is made durable, so that little is lost with this process.
const CHECKPOINT_BYTES: u64 = 8 << 20;
/// Retry delay in seconds while another request writes to the upload.
const BUSY_RETRY_S: u64 = 1;

/// Appends `body` to an upload of the caller's account at `offset`. What was received counts even if the client
/// disconnects. Returns the upload, or the complete model.
///
/// # Errors
/// 404: the account has no such upload; 409: the upload has another offset or writer; 400: the body has a wrong length;
/// 408: it is too slow; 422: the file is complete and has another digest, and is removed.
pub(crate) async fn append(
    app: &App,
    caller: &Caller,
    upload: ModelUploadId,
    offset: u64,
    body: Body,
) -> Result<ModelRecord, ApiError> {
    unfinished(app, caller, upload).await?;
    let transfer = app.model_transfers.acquire(upload)?.ok_or_else(busy)?;
    // Again, as the request that had the upload before may have changed it.
    let record = unfinished(app, caller, upload).await?;
    if offset != record.received_bytes {
        return Err(other_offset(&record));
    }
    let length = checked_length(app, &record, &body)?;
    let available = available_bytes(app)?;
    let uploader = Uploader::Account(caller.key.account.clone());
    let space = app.upload_space.reserve(&app.settings, available, uploader, length)?;
    let (app, caller) = (app.clone(), caller.clone());
    let receiver = ChunkReceiver { app, caller, record, transfer, space, length, recorded: offset };
    // A task of its own records what was received when the client disconnects, which cancels the handler.
    let task = tokio::spawn(receiver.run(body));
    task.await.map_err(|e| ApiError::internal("receiving a piece of a model panicked", &e))?
}

async fn unfinished(app: &App, caller: &Caller, upload: ModelUploadId) -> Result<ModelRecord, ApiError> {
    let found = app.records.model_upload(&caller.key.account, upload).await?;
    let record = found.ok_or_else(|| ApiError::not_found("upload"))?;
    match record.state {
        ModelState::Uploading { .. } => Ok(record),
        ModelState::Ready { .. } => Err(with_offset(&record, "the model is complete".to_owned())),
    }
}

fn busy() -> ApiError {
    let message = "another request is writing to this upload; GET it for its offset";
    ApiError::try_again(ErrorCode::Conflict, message, BUSY_RETRY_S)
}

fn other_offset(record: &ModelRecord) -> ApiError {
    with_offset(record, format!("the upload has {} bytes; continue at this offset", record.received_bytes))
}

fn with_offset(record: &ModelRecord, message: String) -> ApiError {
    let offset = HeaderValue::from(record.received_bytes);
    ApiError::new(ErrorCode::Conflict, message).with_header(UPLOAD_OFFSET, offset)
}

/// Returns the length of a body that fits the upload.
fn checked_length(app: &App, record: &ModelRecord, body: &Body) -> Result<u64, ApiError> {
    let invalid = |value: Option<u64>, message: String| {
        ApiError::invalid("Content-Length", value.map(|length| length.to_string()).as_deref(), message)
    };
    let length = body.size_hint().exact();
    let length = length.ok_or_else(|| invalid(None, "Content-Length is missing".to_owned()))?;
    let left = record.size_bytes.saturating_sub(record.received_bytes);
    let least = app.settings.models.min_chunk_bytes;
    if length > left {
        let message = format!("only {left} of {} bytes are left, but the body has {length}", record.size_bytes);
        return Err(invalid(Some(length), message));
    }
    if length < left && length < least {
        let message = format!("every piece but the last must have at least {least} bytes; {left} are left");
        return Err(invalid(Some(length), message));
    }
    Ok(length)
}

/// Receives one piece.
struct ChunkReceiver {
    app: App,
    caller: Caller,
    record: ModelRecord,
    transfer: ModelTransfer,
    space: Reservation,
    /// Length of the piece.
    length: u64,
    /// Number of the upload's bytes that the records count.
    recorded: u64,
}

impl ChunkReceiver {
    async fn run(mut self, body: Body) -> Result<ModelRecord, ApiError> {
        let Some(file) = self.open().await? else {
            return match is_adopted(&self.app, &self.record).await? {
                true => self.current().await,
                false => self.start_again().await,
            };
        };
        let (file, received) = self.receive(file, body).await;
        let file = self.checkpoint(file?).await?;
        if file.bytes() < self.record.size_bytes {
            self.transfer.prefix = Some(file.into_prefix());
            received?;
            self.caller.revalidate(&self.app).await?;
            return self.current().await;
        }
        self.caller.revalidate(&self.app).await?;
        let sha256 = file.sha256();
        drop(file);
        finish(&self.app, &self.record, sha256).await?;
        self.current().await
    }

    /// Opens the upload's file; `None` if it lacks what was recorded.
    async fn open(&mut self) -> Result<Option<PartialFile>, ApiError> {
        let (files, record, prefix) = (self.app.model_files.clone(), self.record.clone(), self.transfer.prefix.take());
        blocking(&self.app, move || PartialFile::open(&files, &record, prefix)).await
    }

    /// Returns the file with what was received, and whether it was the whole piece.
    async fn receive(
        &mut self,
        mut file: PartialFile,
        body: Body,
    ) -> (Result<PartialFile, ApiError>, Result<(), ApiError>) {
        let (timer, mut body) = BodyTimer::of(body, Some(self.length), &self.app.settings.uploads);
        let mut buffer = Vec::new();
        let outcome = loop {
            match timer.next(body.frame()).await {
                Ok(Some(Ok(frame))) => buffer.extend_from_slice(&frame.into_data().unwrap_or_default()),
                Ok(Some(Err(_))) => break Err(incomplete()),
                Ok(None) => break Ok(()),
                Err(late) => break Err(late),
            }
            if buffer.len() >= BUFFER_BYTES {
                file = match self.write(file, std::mem::take(&mut buffer).into()).await {
                    Ok(file) => file,
                    Err(error) => return (Err(error), Ok(())),
                };
            }
        };
        (self.write(file, buffer.into()).await, outcome)
    }

    async fn write(&mut self, file: PartialFile, piece: Bytes) -> Result<PartialFile, ApiError> {
        self.space.write(available_bytes(&self.app)?, piece.len() as u64)?;
        let file = blocking(&self.app, move || file.write(&piece)).await?;
        if file.bytes() < self.recorded + CHECKPOINT_BYTES { Ok(file) } else { self.checkpoint(file).await }
    }

    /// Makes durable and records what was received.
    async fn checkpoint(&mut self, file: PartialFile) -> Result<PartialFile, ApiError> {
        if file.bytes() == self.recorded {
            return Ok(file);
        }
        let file = blocking(&self.app, move || file.sync()).await?;
        self.record_bytes(file.bytes()).await?;
        Ok(file)
    }

    async fn record_bytes(&mut self, bytes: u64) -> Result<(), ApiError> {
        let expires_at = expiry(&self.app, self.app.clock.now());
        if !self.app.records.record_model_bytes(self.record.upload, bytes, expires_at).await? {
            return Err(ApiError::not_found("upload"));
        }
        self.recorded = bytes;
        Ok(())
    }

    /// Resets an upload whose file was lost.
    async fn start_again(&mut self) -> Result<ModelRecord, ApiError> {
        self.record_bytes(0).await?;
        self.record.received_bytes = 0;
        Err(other_offset(&self.record))
    }

    /// Returns the current record.
    async fn current(&self) -> Result<ModelRecord, ApiError> {
        let found = self.app.records.model(&self.record.account, self.record.sha256).await?;
        found.ok_or_else(|| ApiError::not_found("upload"))
    }
}

fn incomplete() -> ApiError {
    ApiError::invalid("body", None, "the body is incomplete; GET the upload for its offset, and continue there")
}

/// Runs a file operation on a blocking thread.
async fn blocking<T: Send + 'static>(
    app: &App,
    operation: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(operation).await;
    done.map_err(|e| ApiError::internal("a file operation panicked", &e))?.map_err(|e| disk_error(app, &e))
}
