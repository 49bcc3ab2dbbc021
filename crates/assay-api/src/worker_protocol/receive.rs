//! Reads the bodies of workers' requests.

use std::path::Path;

use assay_model::{Sha256Digest, Sha256Writer, plain_complaint};
use assay_store::WorkerName;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use http_body::Body as _;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tokio::io::AsyncWriteExt;
use tokio::sync::OwnedSemaphorePermit;

use crate::disk::{available_bytes, disk_error};
use crate::http::{ApiError, ErrorCode};
use crate::state::App;
use crate::upload::BodyTimer;
use crate::upload_space::Uploader;

/// Maximum length of a JSON body, in bytes: sixteen results of 512 KiB.
const MAX_JSON_BYTES: usize = 8 << 20;

/// Length of a JSON body above which a worker sends only few at a time, in bytes.
const LARGE_JSON_BYTES: u64 = 64 << 10;

/// Reads a JSON body.
///
/// # Errors
/// As for [`json_in_turn`].
pub(super) async fn json<T: DeserializeOwned>(app: &App, worker: &WorkerName, request: Request) -> Result<T, ApiError> {
    json_in_turn(app, worker, request).await.map(|(value, _)| value)
}

/// Reads a JSON body. Returns it with the worker's turn, if it is large: while all turns are taken, its further large
/// bodies wait, unread.
///
/// # Errors
/// 408: too slow; 413: too long; 400: not the expected object.
pub(super) async fn json_in_turn<T: DeserializeOwned>(
    app: &App,
    worker: &WorkerName,
    request: Request,
) -> Result<(T, Option<OwnedSemaphorePermit>), ApiError> {
    let body = request.into_body();
    let is_large = body.size_hint().exact().is_none_or(|length| length > LARGE_JSON_BYTES);
    let reading = async {
        // The semaphore is never closed.
        let turn = if is_large { app.worker_fleet.large_bodies(worker).acquire_owned().await.ok() } else { None };
        (to_bytes(body, MAX_JSON_BYTES).await, turn)
    };
    let read = tokio::time::timeout(app.settings.uploads.idle_s.get(), reading).await;
    let (body, turn) = read.map_err(|_| ApiError::new(ErrorCode::Timeout, "the body was not received in time"))?;
    let body = body.map_err(|_| {
        ApiError::new(ErrorCode::PayloadTooLarge, format!("the body is longer than {MAX_JSON_BYTES} bytes"))
    })?;
    let value = serde_json::from_slice(&body).map_err(|error| {
        let message = format!("the body is not as expected: {}", plain_complaint(&error.to_string()));
        ApiError::invalid("body", None, message)
    })?;
    Ok((value, turn))
}

/// Writes a body of at most `limit` bytes to a new file at `path`, against the disk space for uploads. Returns the
/// SHA-256 of what was received.
///
/// # Errors
/// 400: no Content-Length; 408: too slow; 413: too long; 503: the disk is full.
pub(super) async fn file(
    app: &App,
    (worker, limit): (&WorkerName, u64),
    body: Body,
    path: &Path,
) -> Result<Sha256Digest, ApiError> {
    let length = body.size_hint().exact();
    let length = length.ok_or_else(|| ApiError::invalid("Content-Length", None, "Content-Length is missing"))?;
    if length > limit {
        let message = format!("the file has {length} bytes; an episode's evidence may have {limit}");
        return Err(ApiError::new(ErrorCode::PayloadTooLarge, message));
    }
    let uploader = Uploader::Worker(worker.clone());
    let mut space = app.upload_space.reserve(&app.settings, available_bytes(app)?, uploader, length)?;
    let (timer, mut body) = BodyTimer::of(body, Some(length), &app.settings.uploads);
    let mut file = tokio::fs::File::create_new(path).await.map_err(|error| disk_error(app, &error))?;
    let mut hash = Sha256Writer::default();
    while let Some(frame) = timer.next(body.frame()).await? {
        let frame = frame.map_err(|_| ApiError::invalid("body", None, "the body is incomplete"))?;
        let piece = frame.into_data().unwrap_or_default();
        space.write(available_bytes(app)?, piece.len() as u64)?;
        hash.update(&piece);
        file.write_all(&piece).await.map_err(|error| disk_error(app, &error))?;
    }
    file.flush().await.map_err(|error| disk_error(app, &error))?;
    Ok(hash.finish())
}
