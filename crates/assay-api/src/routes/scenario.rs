//! `GET /scenarios/{id}`.

use axum::extract::{Path, State};

use super::present::{self, Detail};
use crate::http::{ApiError, Json};
use crate::state::App;

/// Get a scenario
///
/// Returns the card of a built-in or published scenario, with its full description. Takes any scenario's id.
#[utoipa::path(
    get, path = "/scenarios/{id}", operation_id = "scenario", tag = "scenarios",
    params(("id" = String, Path, description = "A scenario's id")),
    responses((status = 200, body = Detail), (status = 400), (status = 404)),
)]
pub(super) async fn handle(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Detail>, ApiError> {
    let missing = || ApiError::not_found("scenario");
    let card = app.scenario(&id.parse().map_err(|_| missing())?).await?.ok_or_else(missing)?;
    Ok(Json(present::detail(&card)))
}
