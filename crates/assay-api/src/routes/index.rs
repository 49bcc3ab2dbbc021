//! `GET /`: what this is.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::state::App;

pub(super) async fn handle(State(app): State<App>) -> Json<Value> {
    let at = |path| app.settings.address(path);
    Json(json!({
        "name": "assay",
        "version": env!("CARGO_PKG_VERSION"),
        "api": at("/v1"),
        "scenarios": at("/scenarios"),
        "verify": at("/verify"),
        "health": at("/healthz"),
        "ready": at("/readyz"),
    }))
}
