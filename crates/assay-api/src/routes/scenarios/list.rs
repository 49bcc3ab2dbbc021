//! `GET /scenarios`: the curated scenarios, without their long descriptions.

use axum::extract::State;
use serde::Serialize;

use crate::http::Json;
use crate::routes::openapi::body::schema_of;
use crate::state::App;
use crate::views::ScenarioSummary;

/// All curated scenarios.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct ScenarioList {
    scenarios: Vec<ScenarioSummary>,
}

/// List the built-in scenarios
///
/// Returns all built-in scenarios; for those that accounts have published, see `/community/scenarios`.
#[utoipa::path(get, path = "/scenarios", operation_id = "scenarios", tag = "scenarios", responses((status = 200, body = ref(schema_of::<ScenarioList>()))))]
pub(in crate::routes) async fn handle(State(app): State<App>) -> Json<ScenarioList> {
    Json(ScenarioList { scenarios: app.catalog.list().iter().map(|card| ScenarioSummary::new(card)).collect() })
}
