//! `GET /healthz` (the process answers) and `GET /readyz` (it can take work).

use axum::Json;
use axum::extract::State;
use serde::Serialize;

use crate::http::{ApiError, Code};
use crate::state::App;

/// How the service is.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct Health {
    /// `ok` or `ready`.
    status: &'static str,
}

#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "service", responses((status = 200, body = Health)))]
pub(super) async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "service", responses((status = 200, body = Health)))]
pub(super) async fn ready(State(app): State<App>) -> Result<Json<Health>, ApiError> {
    if let Err(reason) = app.readiness.get() {
        return Err(ApiError::new(Code::Unavailable, format!("not ready: {reason}")));
    }
    if let Err(error) = app.records.ping().await {
        tracing::error!(%error, "the records do not answer");
        return Err(ApiError::new(Code::Unavailable, "not ready: the records do not answer"));
    }
    Ok(Json(Health { status: "ready" }))
}
