//! `GET /healthz` (the process answers) and `GET /readyz` (it can take work).

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::http::{ApiError, Code};
use crate::state::App;

pub(super) async fn alive() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

pub(super) async fn ready(State(app): State<App>) -> Result<Json<Value>, ApiError> {
    if let Err(reason) = app.readiness.get() {
        return Err(ApiError::new(Code::Unavailable, format!("not ready: {reason}")));
    }
    if let Err(error) = app.records.ping().await {
        tracing::error!(%error, "the records do not answer");
        return Err(ApiError::new(Code::Unavailable, "not ready: the records do not answer"));
    }
    Ok(Json(json!({ "status": "ready" })))
}
