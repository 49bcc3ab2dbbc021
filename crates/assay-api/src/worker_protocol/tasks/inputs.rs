//! The inputs of a task.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_model::{AssignedPolicy, PackedRuntime, ScenarioFile, ScenarioListing, ServerCall};
use axum::extract::{Path, State};
use axum::response::Response;

use super::super::inputs::{digest, files_in, scenario_files, send, send_model};
use super::super::runtimes::{packed_runtime, send_runtime};
use super::lease::HeldTask;
use crate::disk::disk_error;
use crate::http::{ApiError, Json};
use crate::state::App;

/// `GET .../policy`: the archive.
pub(super) async fn policy(State(app): State<App>, held: HeldTask) -> Result<Response, ApiError> {
    send(&app, &app.tasks.input(held.fence.id, "policy")).await
}

/// `GET .../recording`: the trace of the episode.
pub(super) async fn recording(State(app): State<App>, held: HeldTask) -> Result<Response, ApiError> {
    send(&app, &app.tasks.input(held.fence.id, "recording")).await
}

/// `GET .../server`: how the policy's server is called.
pub(super) async fn server(State(app): State<App>, held: HeldTask) -> Result<Json<ServerCall>, ApiError> {
    let read = tokio::fs::read(app.tasks.input(held.fence.id, "server")).await;
    let text = read.map_err(|_| ApiError::not_found("policy server to call"))?;
    serde_json::from_slice(&text).map(Json).map_err(|error| ApiError::internal("a policy server", &error))
}

/// `GET .../runtime`: the policy's runtime, as a file that can be fetched.
pub(super) async fn runtime(State(app): State<App>, held: HeldTask) -> Result<Json<PackedRuntime>, ApiError> {
    packed_runtime(&app, held.task.runtime()).await.map(|(packed, _)| Json(packed))
}

/// `GET .../runtime/{sha256}`: that file.
pub(super) async fn runtime_file(
    State(app): State<App>,
    held: HeldTask,
    Path(values): Path<BTreeMap<String, String>>,
) -> Result<Response, ApiError> {
    send_runtime(&app, held.task.runtime(), digest(&values)?).await
}

/// `GET .../models/{sha256}`: a model that the policy declares.
pub(super) async fn model(
    State(app): State<App>,
    held: HeldTask,
    Path(values): Path<BTreeMap<String, String>>,
) -> Result<Response, ApiError> {
    let wanted = digest(&values)?;
    let Some(AssignedPolicy::Archive { models, .. }) = held.task.policy() else {
        return Err(ApiError::not_found("model in this task"));
    };
    let declared = models.iter().find(|model| model.sha256 == wanted);
    let declared = declared.ok_or_else(|| ApiError::not_found("model in this task"))?.clone();
    send_model(&app, held.task.account().clone(), declared).await
}

/// `GET .../scenario`: the files of the scenario and of its robots.
pub(super) async fn scenario(State(app): State<App>, held: HeldTask) -> Result<Json<ScenarioListing>, ApiError> {
    let files = files(&app, &held).await?;
    Ok(Json(ScenarioListing { files: files.into_iter().map(|(file, _)| file).collect() }))
}

/// `GET .../scenario/{sha256}`: one of these files.
pub(super) async fn scenario_file(
    State(app): State<App>,
    held: HeldTask,
    Path(values): Path<BTreeMap<String, String>>,
) -> Result<Response, ApiError> {
    let wanted = digest(&values)?;
    let found = files(&app, &held).await?.into_iter().find(|(file, _)| file.sha256 == wanted);
    let (_, path) = found.ok_or_else(|| ApiError::not_found("file in this scenario"))?;
    send(&app, &path).await
}

/// Returns the files of the scenario: those of a draft are in the task, those of a version in the data folder.
async fn files(app: &App, held: &HeldTask) -> Result<Vec<(ScenarioFile, PathBuf)>, ApiError> {
    let (scenario, robots) = (app.tasks.input(held.fence.id, "scenario"), app.tasks.input(held.fence.id, "robots"));
    if !scenario.is_dir() {
        return scenario_files(app, held.task.scenario_digest()).await;
    }
    let listed = tokio::task::spawn_blocking(move || files_in(&scenario, &robots)).await;
    let listed = listed.map_err(|e| ApiError::internal("listing a scenario panicked", &e))?;
    listed.map_err(|error| disk_error(app, &error))
}
