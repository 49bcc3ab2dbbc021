//! The inputs of a task.

use std::collections::BTreeMap;

use assay_model::{AssignedPolicy, PackedRuntime, ScenarioListing, ServerCall};
use axum::extract::{Path, State};
use axum::response::Response;

use super::super::inputs::{digest, send, send_model};
use super::super::runtimes::{packed_runtime, send_runtime};
use super::super::scenario_files::{files_in, listed, send_one_of, version_files};
use super::lease::HeldTask;
use crate::http::{ApiError, Json};
use crate::remembered_scenarios::LocatedFiles;
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
    Ok(listed(&files(&app, &held).await?))
}

/// `GET .../scenario/{sha256}`: one of these files.
pub(super) async fn scenario_file(
    State(app): State<App>,
    held: HeldTask,
    Path(values): Path<BTreeMap<String, String>>,
) -> Result<Response, ApiError> {
    send_one_of(&app, &files(&app, &held).await?, &values).await
}

/// Returns the files of the scenario: those of a draft are in the task, those of a version in the data folder.
async fn files(app: &App, held: &HeldTask) -> Result<LocatedFiles, ApiError> {
    let (scenario, robots) = (app.tasks.input(held.fence.id, "scenario"), app.tasks.input(held.fence.id, "robots"));
    if scenario.is_dir() {
        files_in(app, scenario, robots).await
    } else {
        version_files(app, held.task.scenario_digest()).await
    }
}
