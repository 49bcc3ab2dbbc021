//! The inputs of a rendering: the recording, and the files of the scenario.

use std::collections::BTreeMap;

use assay_model::ScenarioListing;
use assay_model::lane::files;
use axum::extract::{Path, State};
use axum::response::Response;

use super::super::inputs::send;
use super::super::scenario_files::{listed, send_one_of, version_files};
use super::lease::HeldRender;
use crate::blob_error::blob_error;
use crate::disk::disk_error;
use crate::http::{ApiError, Json};
use crate::state::App;

/// `GET .../recording`: the trace.
pub(super) async fn recording(State(app): State<App>, held: HeldRender) -> Result<Response, ApiError> {
    let evidence = &held.claim.result.evidence;
    let trace = evidence.iter().find(|file| file.name.ends_with(files::TRACE));
    let trace = trace.ok_or_else(|| ApiError::not_found("recording"))?;
    let folder = app.blobs.incoming().map_err(|error| disk_error(&app, &error))?;
    let path = folder.path().join(files::TRACE);
    let copied = app.blobs.copy_to(held.claim.fence.job_id, trace.sha256, &path).await;
    copied.map_err(|error| blob_error(&app, error))?;
    // The file stays open after its folder is gone.
    send(&app, &path).await
}

/// `GET .../scenario`: the files of the scenario's version and of its robots.
pub(super) async fn scenario(State(app): State<App>, held: HeldRender) -> Result<Json<ScenarioListing>, ApiError> {
    Ok(listed(&version_files(&app, held.claim.header.scenario_digest).await?))
}

/// `GET .../scenario/{sha256}`: one of these files.
pub(super) async fn scenario_file(
    State(app): State<App>,
    held: HeldRender,
    Path(values): Path<BTreeMap<String, String>>,
) -> Result<Response, ApiError> {
    send_one_of(&app, &version_files(&app, held.claim.header.scenario_digest).await?, &values).await
}
