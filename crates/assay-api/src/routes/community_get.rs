//! `GET /community/scenarios/{id}`.

use axum::extract::{Path, State};

use super::community::{Detail, detail};
use crate::http::{ApiError, Code, Json};
use crate::state::App;

/// Get a published scenario
///
/// Returns the newest version with its author's description and the list of all versions. Answers 410 when it was
/// deleted.
#[utoipa::path(
    get, path = "/community/scenarios/{id}", operation_id = "community_scenario", tag = "scenarios",
    params(("id" = String, Path, description = "A published scenario's id: account.name")),
    responses((status = 200, body = Detail), (status = 400), (status = 404), (status = 410)),
)]
pub(super) async fn handle(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Detail>, ApiError> {
    let missing = || ApiError::not_found("published scenario");
    let id = id.parse().map_err(|_| missing())?;
    let scenario = app.records.community_scenario(&id).await?.ok_or_else(missing)?;
    if scenario.deleted_at.is_some() {
        return Err(ApiError::new(Code::Gone, "its author deleted this scenario; reports that speak of it stay"));
    }
    let versions = app.records.community_versions(&id).await?;
    Ok(Json(detail(&app, &scenario, versions)))
}
