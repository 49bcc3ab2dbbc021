//! `DELETE /community/scenarios/{id}`: removes a scenario from the list permanently. Its files stay for the reports
//! that used it, and its name is never reused. Idempotent.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::http::{ApiError, Caller};
use crate::state::App;

/// Delete a published scenario
///
/// Removes the scenario from the lists permanently; its name cannot be used again. Its files are kept for the jobs and
/// reports that refer to it. Requires a key of the account that published it, or of an administrator. The operation is
/// idempotent.
#[utoipa::path(
    delete, path = "/community/scenarios/{id}", operation_id = "delete_community_scenario", tag = "scenarios",
    params(("id" = String, Path, description = "Id of the published scenario: account.name", pattern = "^[a-z0-9][a-z0-9_-]*\\.[a-z0-9][a-z0-9_-]*$", max_length = 100)),
    responses((status = 204, description = "Deleted"), (status = 400), (status = 404)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    delete_scenario(&app, &caller, &id).await.map(|()| StatusCode::NO_CONTENT)
}

/// Removes a published scenario from the lists.
pub(crate) async fn delete_scenario(app: &App, caller: &Caller, id: &str) -> Result<(), ApiError> {
    let missing = || ApiError::not_found("published scenario");
    let id = id.parse().map_err(|_| missing())?;
    let scenario = app.records.community_scenario(&id).await?.ok_or_else(missing)?;
    if caller.write_scope().is_none_or(|account| *account == scenario.account) {
        caller.record_access(app, (&scenario.account, &id), "deleted a scenario").await?;
    }
    if !app.records.delete_scenario(caller.write_scope(), &id, app.clock.now()).await? {
        // The owner is public, so NOT_FOUND hides nothing here; it is used for consistency with other resources.
        return Err(missing());
    }
    Ok(())
}
