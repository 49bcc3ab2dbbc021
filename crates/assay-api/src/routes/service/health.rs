//! `GET /healthz` (liveness) and `GET /readyz` (readiness to accept work).

use assay_model::Isolation;
use axum::extract::State;
use serde::Serialize;

use crate::http::{ApiError, ErrorCode, Json};
use crate::routes::openapi::body::schema_of;
use crate::state::App;
use crate::{ApiSettings, disk, upload_space};

/// Liveness of the service.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct Health {
    /// Always `ok`.
    status: &'static str,
}

/// Capabilities of a service that accepts work.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct Ready {
    /// Always `ready`.
    status: &'static str,
    /// Isolation of policies on this instance.
    isolation: Isolation,
    /// True if uploaded policies are run on this instance; policy servers are supported in any case.
    runs_uploads: bool,
}

/// Check that the process is alive
///
/// Needs no key. For whether the service accepts work, see `/readyz`.
#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "service", responses((status = 200, body = ref(schema_of::<Health>()))))]
pub(in crate::routes) async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// Check whether the service accepts work
///
/// Responds with 200, or with 503 and the reason: the service is starting or stopping, its database does not respond,
/// or its disk is nearly full. Needs no key; intended for load balancers.
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "service", responses((status = 200, body = ref(schema_of::<Ready>()))))]
pub(in crate::routes) async fn ready(State(app): State<App>) -> Result<Json<Ready>, ApiError> {
    if let Err(reason) = app.readiness.get() {
        return Err(ApiError::new(ErrorCode::Unavailable, format!("not ready: {reason}")));
    }
    if let Err(error) = app.records.ping().await {
        error.log("the database does not respond");
        return Err(ApiError::new(ErrorCode::Unavailable, "not ready: the database does not respond"));
    }
    if disk::ensure_free_space(&app).is_err() {
        return Err(ApiError::new(ErrorCode::Unavailable, format!("not ready: {}", upload_space::FULL)));
    }
    let ApiSettings { isolation, runs_uploads, .. } = app.settings;
    Ok(Json(Ready { status: "ready", isolation, runs_uploads }))
}
