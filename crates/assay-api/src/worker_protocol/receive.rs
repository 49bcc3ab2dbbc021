//! Reads the bodies of workers' requests.

use std::path::Path;

use assay_model::{AccountId, Sha256Digest, Sha256Writer, plain_complaint};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use http_body::Body as _;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tokio::io::AsyncWriteExt;

use crate::disk::{available_bytes, disk_error};
use crate::http::{ApiError, ErrorCode};
use crate::state::App;
use crate::upload::BodyTimer;

/// Maximum length of a JSON body, in bytes: sixteen results of 512 KiB.
const MAX_JSON_BYTES: usize = 8 << 20;

/// Reads a JSON body.
///
/// # Errors
/// 408: too slow; 413: too long; 400: not the expected object.
pub(super) async fn json<T: DeserializeOwned>(app: &App, request: Request) -> Result<T, ApiError> {
    let read = tokio::time::timeout(app.settings.uploads.idle_s.get(), to_bytes(request.into_body(), MAX_JSON_BYTES));
    let body = read.await.map_err(|_| ApiError::new(ErrorCode::Timeout, "the body was not received in time"))?;
    let body = body.map_err(|_| {
        ApiError::new(ErrorCode::PayloadTooLarge, format!("the body is longer than {MAX_JSON_BYTES} bytes"))
    })?;
    serde_json::from_slice(&body).map_err(|error| {
        let message = format!("the body is not as expected: {}", plain_complaint(&error.to_string()));
        ApiError::invalid("body", None, message)
    })
}

/// Writes a body of at most `limit` bytes to a new file at `path`, against the disk space of `account`. Returns the
/// SHA-256 of what was received.
///
/// # Errors
/// 400: no Content-Length; 408: too slow; 413: too long; 503: the disk is full.
pub(super) async fn file(
    app: &App,
    (account, limit): (&AccountId, u64),
    body: Body,
    path: &Path,
) -> Result<Sha256Digest, ApiError> {
    let length = body.size_hint().exact();
    let length = length.ok_or_else(|| ApiError::invalid("Content-Length", None, "Content-Length is missing"))?;
    if length > limit {
        let message = format!("the file has {length} bytes; an episode's evidence may have {limit}");
        return Err(ApiError::new(ErrorCode::PayloadTooLarge, message));
    }
    let mut space = app.upload_space.reserve(&app.settings, available_bytes(app)?, account, length)?;
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
