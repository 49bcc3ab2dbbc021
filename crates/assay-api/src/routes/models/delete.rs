//! `DELETE /models/{id}`: removes a model that no job needs, or an unfinished upload.

use assay_store::ModelRemoval;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::model_id::find;
use super::permission::require_upload_scope;
use crate::http::{ApiError, Caller, ErrorCode};
use crate::models::{remove_model, remove_upload};
use crate::state::App;

/// Delete a model
///
/// Removes a model, or an unfinished upload, of the caller's account and frees its part of the quota. A model is kept
/// as long as a job needs it (409 names the jobs): one that has not ended, or a submission of a season that is not
/// closed. The key needs the scope `verify` or `submit`.
#[utoipa::path(
    delete, path = "/models/{id}", operation_id = "delete_model", tag = "models",
    params(("id" = String, Path, description = "SHA-256 of the model, or id of its upload", min_length = 1)),
    responses((status = 204, description = "Deleted"), (status = 404), (status = 409)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    delete_model(&app, &caller, &id).await.map(|()| StatusCode::NO_CONTENT)
}

/// Removes the model, or the unfinished upload, of the caller's account that `id` names.
pub(crate) async fn delete_model(app: &App, caller: &Caller, id: &str) -> Result<(), ApiError> {
    require_upload_scope(caller)?;
    let record = find(app, caller, id).await?;
    if !record.is_ready() {
        remove_upload(app, &record).await?;
        return Ok(());
    }
    match remove_model(app, &record.account, record.sha256).await? {
        ModelRemoval::Done(_) => Ok(()),
        ModelRemoval::NotFound => Err(ApiError::not_found("model")),
        ModelRemoval::InUse(jobs) => {
            let jobs = jobs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let message = format!(
                "jobs need the model: {jobs}; cancel them or wait for their end, and submissions need it until their \
                 season is closed"
            );
            Err(ApiError::new(ErrorCode::Conflict, message))
        }
    }
}
