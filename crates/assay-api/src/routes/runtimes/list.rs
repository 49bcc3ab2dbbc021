//! `GET /runtimes`: what policies can import.

use std::sync::Arc;

use assay_model::RuntimeCard;
use axum::extract::State;
use serde::Serialize;

use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// All runtimes, not paginated.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct RuntimeList {
    runtimes: Vec<RuntimeCard>,
}

/// List the runtimes
///
/// Returns the interpreters and packages that policies can run in. A policy selects one in the inline metadata of
/// `policy.py` (PEP 723) or in `policy.toml`, by name or by the packages that it requires; nothing is ever installed
/// for a policy. Earlier versions of a runtime only serve jobs and seasons that began with them.
#[utoipa::path(
    get, path = "/runtimes", operation_id = "runtimes", tag = "scenarios",
    responses((status = 200, body = ref(schema_of::<RuntimeList>())))
)]
pub(in crate::routes) async fn handle(State(app): State<App>) -> Result<Json<RuntimeList>, ApiError> {
    let intake = Arc::clone(&app.intake);
    let read = tokio::task::spawn_blocking(move || intake.runtimes()).await;
    let runtimes = read.map_err(|e| ApiError::internal("reading the runtimes panicked", &e))?;
    Ok(Json(RuntimeList { runtimes }))
}
