//! `GET /scenarios/{id}/spec`: what a program needs to know before it talks to a scenario.

use std::sync::Arc;

use assay_model::ScenarioId;
use assay_scenario::Spec;
use axum::Json;
use axum::extract::{Path, State};

use crate::http::{ApiError, Code};
use crate::state::App;

#[utoipa::path(
    get, path = "/scenarios/{id}/spec", operation_id = "scenario_spec", tag = "scenarios",
    params(("id" = String, Path, description = "A scenario's id")),
    responses((status = 200, description = "Spaces, rates, limits, stages and clauses", body = Spec), (status = 400), (status = 404), (status = 409)),
)]
pub(super) async fn handle(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Arc<Spec>>, ApiError> {
    let missing = || ApiError::not_found("scenario");
    let id: ScenarioId = id.parse().map_err(|_| missing())?;
    if let Some(spec) = app.catalog.spec(&id) {
        return Ok(Json(spec));
    }
    let digest = app.scenario(&id).await?.ok_or_else(missing)?.digest.clone();
    let publisher = Arc::clone(&app.publisher);
    let read = tokio::task::spawn_blocking(move || publisher.spec(&id, &digest)).await;
    let spec = read.map_err(|e| ApiError::internal("reading a scenario panicked", &e))?;
    spec.map(|spec| Json(Arc::new(spec))).map_err(|why| ApiError::new(Code::Conflict, why))
}
