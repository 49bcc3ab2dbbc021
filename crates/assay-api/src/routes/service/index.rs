//! `GET /`: a description of the service.

use axum::extract::State;
use serde::Serialize;

use crate::http::Json;
use crate::links;
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// The service and the URLs of its parts.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct Index {
    name: &'static str,
    version: &'static str,
    api: String,
    openapi: String,
    docs: String,
    scenarios: String,
    verify: String,
    health: String,
    ready: String,
}

/// Describe the service
///
/// Returns the name and version of the service, and the URLs of its documentation, its scenarios and its health checks.
/// Needs no key.
#[utoipa::path(get, path = "/", operation_id = "index", tag = "service", responses((status = 200, body = ref(schema_of::<Index>())), (status = 303, description = "The client prefers HTML to JSON: `Location` is the address of the pages for people")))]
pub(in crate::routes) async fn handle(State(app): State<App>) -> Json<Index> {
    let at = |path| links::address(&app.settings, path);
    Json(Index {
        name: "assay",
        version: env!("CARGO_PKG_VERSION"),
        api: at("/v1"),
        openapi: at("/openapi.json"),
        docs: at("/docs"),
        scenarios: at("/scenarios"),
        verify: at("/verify"),
        health: at("/healthz"),
        ready: at("/readyz"),
    })
}
