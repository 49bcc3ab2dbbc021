//! `GET /scenarios/{id}/spec`: what a program needs to know before it talks to a scenario.

use std::sync::Arc;

use assay_model::ScenarioId;
use assay_scenario::Spec;
use axum::extract::{Path, State};

use crate::http::{ApiError, Json};
use crate::state::App;

/// Get what a policy sees and does in a scenario
///
/// Returns observations and actions with names, shapes, units and limits, rates, time budgets, stages and clauses: all
/// that a policy's author needs, for programs.
#[utoipa::path(
    get, path = "/scenarios/{id}/spec", operation_id = "scenario_spec", tag = "scenarios",
    params(("id" = String, Path, description = "A scenario's id")),
    responses((status = 200, description = "Spaces, rates, limits, stages and clauses", body = Spec), (status = 400), (status = 404), (status = 409)),
)]
pub(super) async fn handle(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Arc<Spec>>, ApiError> {
    let missing = || ApiError::not_found("scenario");
    let id: ScenarioId = id.parse().map_err(|_| missing())?;
    let card = app.scenario(&id).await?.ok_or_else(missing)?;
    app.spec(&card).await.map(Json)
}
