//! `POST /worker/v1/renders/{lease}/files`: the files of a part. They are stored together with their record, so that
//! nothing remains of a worker that is lost meanwhile.

use std::path::Path;

use assay_model::{Artifact, JobId, MAX_RENDERED_HEAD_BYTES, RenderedFileList, Sha256Digest, episode_share, sanitise};
use assay_store::{RenderClaim, SignedDocument, WorkerName};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use http_body::Body as _;
use http_body_util::BodyExt;
use tempfile::TempDir;

use super::super::lease::lost;
use super::body::{BodyFault, RenderedBody};
use super::lease::HeldRender;
use crate::RemoteRendering;
use crate::blob_error::blob_error;
use crate::disk::{available_bytes, disk_error};
use crate::http::{ApiError, ErrorCode};
use crate::state::App;
use crate::upload::BodyTimer;
use crate::upload_space::Uploader;

/// Maximum number of notes, and length of each, in bytes.
const MAX_NOTES: usize = 8;
const MAX_NOTE_BYTES: usize = 1024;

pub(super) async fn handle(State(app): State<App>, held: HeldRender, request: Request) -> Result<StatusCode, ApiError> {
    let HeldRender { worker, claim } = held;
    let (fence, job) = (claim.fence, claim.fence.job_id);
    let folder = app.blobs.incoming().map_err(|error| disk_error(&app, &error))?;
    let rendered = receive(&app, (&worker.name, &claim), request.into_body(), folder.path()).await?;
    let statement = app.records.signed_document(job, SignedDocument::Statement).await?.ok_or_else(lost)?;
    let notes = rendered.notes.iter().take(MAX_NOTES).map(|note| sanitise(note, MAX_NOTE_BYTES)).collect();
    let (signer, worker) = (app.rendering.clone(), worker.name.to_string());
    let part = claim.part;
    let remote = RemoteRendering {
        job_id: job,
        statement_sha256: Sha256Digest::of(&statement),
        result: claim.result,
        part,
        files: rendered.files,
        worker,
    };
    let signing = move || signer.sign(&remote, folder.path()).map(|files| (files, folder));
    let signed = tokio::task::spawn_blocking(signing).await;
    let signed = signed.map_err(|e| ApiError::internal("signing a rendering panicked", &e))?;
    let (files, folder) = signed.map_err(|e| ApiError::internal("could not sign a rendering", &*e))?;
    put(&app, job, &files, &folder).await?;
    if app.records.record_render(fence, files.clone(), notes).await? {
        // A clean-up of the job that ran before the files were recorded may have removed them.
        put(&app, job, &files, &folder).await?;
        tracing::info!(job.id = %job, episode = fence.episode, part = part.as_str(), "rendered on a worker");
        return Ok(StatusCode::NO_CONTENT);
    }
    // Another renderer has the episode, or the job is erased: files without a record are removed.
    let known = app.records.renders(job).await?;
    let known: Vec<_> = known.iter().flat_map(|drawn| &drawn.files).map(|file| file.sha256).collect();
    for file in files.iter().filter(|file| !known.contains(&file.sha256)) {
        app.blobs.remove(job, file.sha256).await.map_err(|error| blob_error(&app, error))?;
    }
    Err(lost())
}

/// Stores files, which are named relative to the report and lie in `folder` without theirs.
async fn put(app: &App, job: JobId, files: &[Artifact], folder: &TempDir) -> Result<(), ApiError> {
    for file in files {
        let path = folder.path().join(file.name.rsplit('/').next().unwrap_or_default());
        app.blobs.put(job, file.sha256, &path).await.map_err(|error| blob_error(app, error))?;
    }
    if files.is_empty() { Ok(()) } else { app.blobs.settle(job).await.map_err(|error| blob_error(app, error)) }
}

/// Receives the list and the files into `folder`. All of a part's files arrive, or none.
async fn receive(
    app: &App,
    (worker, claim): (&WorkerName, &RenderClaim),
    body: Body,
    folder: &Path,
) -> Result<RenderedFileList, ApiError> {
    let share = episode_share(app.settings.max_evidence_bytes, claim.header.episodes_to_run());
    let limit = share.saturating_add(MAX_RENDERED_HEAD_BYTES as u64);
    let length = body.size_hint().exact();
    let length = length.ok_or_else(|| ApiError::invalid("Content-Length", None, "Content-Length is missing"))?;
    if length > limit {
        let message = format!("the files have {length} bytes; an episode's evidence may have {limit}");
        return Err(ApiError::new(ErrorCode::PayloadTooLarge, message));
    }
    let uploader = Uploader::Worker(worker.clone());
    let mut space = app.upload_space.reserve(&app.settings, available_bytes(app)?, uploader, length)?;
    let (timer, mut body) = BodyTimer::of(body, Some(length), &app.settings.uploads);
    let mut pieces = RenderedBody::default();
    while let Some(frame) = timer.next(body.frame()).await? {
        let frame = frame.map_err(|_| ApiError::invalid("body", None, "the body is incomplete"))?;
        let piece = frame.into_data().unwrap_or_default();
        space.write(available_bytes(app)?, piece.len() as u64)?;
        pieces.add(&piece, (claim.part, folder)).await.map_err(|error| match error {
            BodyFault::Body(message) => ApiError::invalid("body", None, message),
            BodyFault::Disk(error) => disk_error(app, &error),
        })?;
    }
    pieces.end().await.map_err(|error| match error {
        BodyFault::Body(message) => ApiError::new(ErrorCode::Unprocessable, message),
        BodyFault::Disk(error) => disk_error(app, &error),
    })
}
