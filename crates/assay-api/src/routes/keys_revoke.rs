//! `DELETE /keys/{id}`: refuses a key from now on. Doing it again is harmless.

use assay_store::KeyId;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::http::{ApiError, Caller};
use crate::state::App;

#[utoipa::path(
    delete, path = "/keys/{id}", operation_id = "revoke_key", tag = "keys",
    params(("id" = String, Path, description = "The part of the key between the underscores")),
    responses((status = 204, description = "Revoked"), (status = 400), (status = 404)),
)]
pub(super) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let missing = || ApiError::not_found("key");
    let id = KeyId::parse(&id).ok_or_else(missing)?;
    let key = app.records.key(&id).await?.ok_or_else(missing)?;
    caller.audit(&key.account, "revoked a key");
    app.records.revoke_key(&id, app.clock.now()).await?;
    app.events.look_at_streams();
    Ok(StatusCode::NO_CONTENT)
}
