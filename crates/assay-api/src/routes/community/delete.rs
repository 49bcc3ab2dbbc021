//! `DELETE /community/scenarios/{id}`: takes a scenario off the list for good. Its files stay for the reports that used
//! it, and its name is not given again. Doing it again is harmless.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::http::{ApiError, Caller};
use crate::state::App;

/// Delete a published scenario
///
/// Takes it off the lists for good; its name is not given again. Its files stay for the jobs and reports that speak of
/// it. Only the account that published it, or an admin, can do this. Doing it again is harmless.
#[utoipa::path(
    delete, path = "/community/scenarios/{id}", operation_id = "delete_community_scenario", tag = "scenarios",
    params(("id" = String, Path, description = "A published scenario's id: account.name", pattern = "^[a-z0-9][a-z0-9_-]*\\.[a-z0-9][a-z0-9_-]*$", max_length = 100)),
    responses((status = 204, description = "Deleted"), (status = 400), (status = 404)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let missing = || ApiError::not_found("published scenario");
    let id = id.parse().map_err(|_| missing())?;
    let scenario = app.records.community_scenario(&id).await?.ok_or_else(missing)?;
    if !app.records.delete_scenario(caller.write_scope(), &id, app.clock.now()).await? {
        // Everybody may see whose it is, so nothing is hidden by calling it missing; but that is what it is called
        // elsewhere.
        return Err(missing());
    }
    caller.audit(&scenario.account, "deleted a scenario");
    Ok(StatusCode::NO_CONTENT)
}
