//! The inputs of an episode, by SHA-256: the policy's archive and models, and the policy's server.

use std::collections::BTreeMap;
use std::path::Path as FilePath;

use assay_model::{AccountId, DeclaredModel, ServerCall, Sha256Digest};
use assay_store::{ArchiveFileError, ModelFileError, PolicyServerAccess};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::BytesMut;
use futures_util::stream;
use tokio::io::AsyncReadExt;

use super::lease::HeldShard;
use crate::blob_error::archive_error;
use crate::disk::disk_error;
use crate::http::{ApiError, ErrorCode, Json};
use crate::state::App;

/// Number of bytes read from a file at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Retry delay while a file is missing on this server, in seconds.
const MISSING_RETRY_S: u64 = 5;

/// `GET .../policy`: the archive.
pub(super) async fn policy(State(app): State<App>, held: HeldShard) -> Result<Response, ApiError> {
    let path = held.claim.policy_path.ok_or_else(|| ApiError::not_found("archive: the policy is a server"))?;
    let archive = app.archives.open(&path).await.map_err(|error| match error {
        ArchiveFileError::Missing => missing("the archive"),
        other => archive_error(&app, other),
    })?;
    send(&app, archive.path()).await
}

/// `GET .../models/{sha256}`: a model that the policy declares.
pub(super) async fn model(
    State(app): State<App>,
    held: HeldShard,
    Path(values): Path<BTreeMap<String, String>>,
) -> Result<Response, ApiError> {
    let wanted = digest(&values)?;
    let declared = held.claim.header.models.iter().find(|model| model.sha256 == wanted);
    let declared = declared.ok_or_else(|| ApiError::not_found("model in this job"))?.clone();
    send_model(&app, held.claim.account, declared).await
}

/// Sends a model of `account`.
pub(super) async fn send_model(app: &App, account: AccountId, declared: DeclaredModel) -> Result<Response, ApiError> {
    let files = app.model_files.clone();
    let found = tokio::task::spawn_blocking(move || files.resolve(&account, &[declared])).await;
    let found = found.map_err(|e| ApiError::internal("looking for a model panicked", &e))?;
    match found {
        Ok(files) => match files.first() {
            Some(file) => send(app, &file.host).await,
            None => Err(ApiError::not_found("model")),
        },
        Err(ModelFileError::Missing(_)) => Err(missing("the model")),
        Err(error) => Err(ApiError::internal("a model", &error)),
    }
}

/// `GET .../server`: how the policy's server is called.
pub(super) async fn server(State(app): State<App>, held: HeldShard) -> Result<Json<ServerCall>, ApiError> {
    let (servers, job) = (app.servers.clone(), held.claim.fence.job_id);
    let access = tokio::task::spawn_blocking(move || servers.get(job)).await;
    let access = access.map_err(|e| ApiError::internal("reading credentials panicked", &e))?;
    match access.map_err(|error| disk_error(&app, &error))? {
        Some(PolicyServerAccess::Call(call)) => Ok(Json(ServerCall {
            url: call.url.reveal().to_owned(),
            api_key: call.api_key.map(|key| key.reveal().to_owned()),
            concurrency: call.concurrency,
        })),
        Some(PolicyServerAccess::Connects) | None => Err(ApiError::not_found("policy server to call")),
    }
}

pub(super) fn digest(values: &BTreeMap<String, String>) -> Result<Sha256Digest, ApiError> {
    values.get("sha256").and_then(|text| text.parse().ok()).ok_or_else(|| ApiError::not_found("file"))
}

/// Returns the error for a file that this server should have.
pub(super) fn missing(what: &str) -> ApiError {
    let message = format!("{what} is missing on this server; it may be restored from a backup");
    ApiError::try_again(ErrorCode::Unavailable, &message, MISSING_RETRY_S)
}

/// Responds with a file's bytes.
pub(super) async fn send(app: &App, path: &FilePath) -> Result<Response, ApiError> {
    let opened = tokio::fs::File::open(path).await;
    let file = opened.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => missing("the file"),
        _ => disk_error(app, &error),
    })?;
    let length = file.metadata().await.map_err(|error| disk_error(app, &error))?.len();
    let next = |mut file: tokio::fs::File| async move {
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let read = file.read_buf(&mut chunk).await?;
        Ok::<_, std::io::Error>((read > 0).then(|| (chunk.freeze(), file)))
    };
    let body = Body::from_stream(stream::try_unfold(file, next));
    let headers =
        [(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_LENGTH, length.to_string())];
    Ok((headers, body).into_response())
}
