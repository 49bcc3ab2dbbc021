//! `GET /scenarios/{id}/spec`: what a program needs to know before it talks to a scenario.

use std::sync::Arc;

use assay_scenario::Spec;
use axum::Json;
use axum::extract::{Path, State};

use crate::http::ApiError;
use crate::state::App;

#[utoipa::path(
    get, path = "/scenarios/{id}/spec", operation_id = "scenario_spec", tag = "scenarios",
    params(("id" = String, Path, description = "A scenario's id")),
    responses((status = 200, description = "Spaces, rates, limits, stages and clauses", body = Spec), (status = 400), (status = 404)),
)]
pub(super) async fn handle(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Arc<Spec>>, ApiError> {
    let spec = id.parse().ok().and_then(|id| app.catalog.spec(&id)).ok_or_else(|| ApiError::not_found("scenario"))?;
    Ok(Json(spec))
}
