//! A model as clients see it.

use assay_model::{ModelUploadId, Sha256Digest};
use assay_store::{ModelRecord, ModelState};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::Json;
use crate::models::UPLOAD_OFFSET;

/// A model, or its upload.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Model")]
pub(in crate::routes) struct ModelView {
    /// SHA-256 of the file.
    sha256: Sha256Digest,
    /// Size of the file in bytes.
    size_bytes: u64,
    /// Name given by the account.
    name: Option<String>,
    #[schemars(with = "ModelViewState")]
    state: &'static str,
    /// Id of the upload, to which pieces are sent.
    upload_id: ModelUploadId,
    /// Number of bytes that are stored durably; the upload continues here.
    offset: u64,
    /// Time of the announcement.
    created_at: Timestamp,
    /// Time at which the upload is removed unless more is received before; `null` for a complete model.
    expires_at: Option<Timestamp>,
    /// Time at which the model was completed; `null` before.
    completed_at: Option<Timestamp>,
}

/// The progress of a model.
#[derive(schemars::JsonSchema)]
#[schemars(rename = "ModelState")]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(dead_code, reason = "only its schema is used")]
enum ModelViewState {
    /// Parts are missing.
    Uploading,
    /// It is complete, its digest was verified, and policies can use it.
    Ready,
}

impl From<&ModelRecord> for ModelView {
    fn from(record: &ModelRecord) -> Self {
        let (state, expires_at, completed_at) = match record.state {
            ModelState::Uploading { expires_at } => ("UPLOADING", Some(expires_at), None),
            ModelState::Ready { completed_at } => ("READY", None, Some(completed_at)),
        };
        Self {
            sha256: record.sha256,
            size_bytes: record.size_bytes,
            name: record.name.clone(),
            state,
            upload_id: record.upload,
            offset: record.received_bytes,
            created_at: record.created_at,
            expires_at,
            completed_at,
        }
    }
}

/// Returns the response with a model, which has its offset in a header too.
pub(super) fn respond(status: StatusCode, record: &ModelRecord) -> Response {
    let mut response = (status, Json(ModelView::from(record))).into_response();
    response.headers_mut().insert(UPLOAD_OFFSET, HeaderValue::from(record.received_bytes));
    response
}
