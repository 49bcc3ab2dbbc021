//! The inputs of an episode, by SHA-256: the policy's archive and models, the files of the scenario, the policy's
//! server.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};

use assay_model::{AccountId, DeclaredModel, ScenarioFile, ScenarioListing, ServerCall, Sha256Digest};
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
/// Maximum depth of folders in a scenario, and maximum number of its files.
const MAX_DEPTH: usize = 16;
const MAX_FILES: usize = 4096;
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

/// `GET .../scenario`: the files of the scenario's version and of its robots.
pub(super) async fn scenario(State(app): State<App>, held: HeldShard) -> Result<Json<ScenarioListing>, ApiError> {
    let files = scenario_files(&app, held.claim.header.scenario_digest).await?;
    Ok(Json(ScenarioListing { files: files.into_iter().map(|(file, _)| file).collect() }))
}

/// `GET .../scenario/{sha256}`: one of these files.
pub(super) async fn scenario_file(
    State(app): State<App>,
    held: HeldShard,
    Path(values): Path<BTreeMap<String, String>>,
) -> Result<Response, ApiError> {
    let wanted = digest(&values)?;
    let files = scenario_files(&app, held.claim.header.scenario_digest).await?;
    let found = files.into_iter().find(|(file, _)| file.sha256 == wanted);
    let (_, path) = found.ok_or_else(|| ApiError::not_found("file in this scenario"))?;
    send(&app, &path).await
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

/// Returns the files of a scenario's version with their paths on this machine.
pub(super) async fn scenario_files(app: &App, digest: Sha256Digest) -> Result<Vec<(ScenarioFile, PathBuf)>, ApiError> {
    let found = app.scenario_files.scenario(digest).zip(app.scenario_files.robots(digest));
    let (scenario, robots) = found.ok_or_else(|| missing("the scenario"))?;
    let listed = tokio::task::spawn_blocking(move || files_in(&scenario, &robots)).await;
    let listed = listed.map_err(|e| ApiError::internal("listing a scenario panicked", &e))?;
    listed.map_err(|error| disk_error(app, &error))
}

/// Lists the files of a scenario and its robots with their paths on this machine.
pub(super) fn files_in(scenario: &FilePath, robots: &FilePath) -> std::io::Result<Vec<(ScenarioFile, PathBuf)>> {
    let mut files = Vec::new();
    list(scenario, "scenario", 0, &mut files)?;
    if robots.is_dir() {
        list(robots, "robots", 0, &mut files)?;
    }
    Ok(files)
}

fn list(folder: &FilePath, name: &str, depth: usize, files: &mut Vec<(ScenarioFile, PathBuf)>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if kind.is_dir() && depth < MAX_DEPTH {
            list(&path, &name, depth + 1, files)?;
        } else if kind.is_file() && files.len() < MAX_FILES {
            let (mut hash, mut file) = (assay_model::Sha256Writer::default(), std::fs::File::open(&path)?);
            let size_bytes = std::io::copy(&mut file, &mut hash)?;
            files.push((ScenarioFile { path: name, sha256: hash.finish(), size_bytes }, path));
        }
    }
    Ok(())
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
