//! `GET /scenarios/{id}`.

use axum::Json;
use axum::extract::{Path, State};

use super::present::{self, Detail};
use crate::http::ApiError;
use crate::state::App;

#[utoipa::path(
    get, path = "/scenarios/{id}", operation_id = "scenario", tag = "scenarios",
    params(("id" = String, Path, description = "A scenario's id")),
    responses((status = 200, body = Detail), (status = 400), (status = 404)),
)]
pub(super) async fn handle(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Detail>, ApiError> {
    let card = id.parse().ok().and_then(|id| app.catalog.get(&id)).ok_or_else(|| ApiError::not_found("scenario"))?;
    Ok(Json(present::detail(&card)))
}
