//! `DELETE /keys/{id}`: revokes a key. Idempotent. The last admin key cannot be revoked, so that the service can always
//! be administered through its API.

use std::sync::Arc;

use assay_store::{KeyId, KeyRecord, RevokeOutcome};
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::http::{ApiError, Caller, ErrorCode};
use crate::state::App;

/// Revoke an API key
///
/// Revokes a key of any account and ends its sessions immediately. The last valid admin key cannot be revoked (409).
/// The operation is idempotent.
#[utoipa::path(
    delete, path = "/keys/{id}", operation_id = "revoke_key", tag = "keys",
    params(("id" = String, Path, description = "Id of the key: the part between the underscores", pattern = "^[0-9a-z]{1,32}$")),
    responses((status = 204, description = "Revoked"), (status = 400), (status = 404), (status = 409)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    revoke_key(&app, &caller, &id).await.map(|_| StatusCode::NO_CONTENT)
}

/// Revokes the key with this id and ends its sessions. Returns its record as it was.
pub(crate) async fn revoke_key(app: &App, caller: &Caller, id: &str) -> Result<Arc<KeyRecord>, ApiError> {
    let missing = || ApiError::not_found("key");
    let id = KeyId::parse(id).ok_or_else(missing)?;
    let key = app.records.key(&id).await?.ok_or_else(missing)?;
    caller.record_access(app, (&key.account, &id), "revoked a key").await?;
    if app.records.revoke_key_unless_last_admin(&id, app.clock.now()).await? == RevokeOutcome::LastAdmin {
        let message = "this is the last valid key with the scope admin; create another one first (POST /keys)";
        return Err(ApiError::new(ErrorCode::Conflict, message));
    }
    tracing::info!(key.id = %caller.key.id, key.revoked = %id, "revoked a key");
    app.events.recheck_streams();
    Ok(key)
}
