//! `GET /scenarios/{id}/spec`: the interface of a scenario for programs.

use std::sync::Arc;

use assay_scenario::Spec;
use axum::extract::{Path, RawQuery, State};

use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::scenario_lookup;
use crate::state::App;

/// Get a scenario's interface for policies
///
/// Returns the observations and actions with names, shapes, units and limits, the rates, time budgets, stages and
/// clauses: everything that a policy's author needs, in machine-readable form.
#[utoipa::path(
    get, path = "/scenarios/{id}/spec", operation_id = "scenario_spec", tag = "scenarios",
    params(
        ("id" = String, Path, description = "Id of the scenario", pattern = "^[a-z0-9][a-z0-9_-]*(\\.[a-z0-9][a-z0-9_-]*)?$", max_length = 100),
        ("version" = Option<String>, Query, description = "Version of the scenario; the highest if absent", min_length = 1),
    ),
    responses((status = 200, description = "Spaces, rates, limits, stages and clauses", body = ref(schema_of::<Spec>())), (status = 400), (status = 404), (status = 409), (status = 410)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Arc<Spec>>, ApiError> {
    let query = Query::parse(query.as_deref());
    let card = scenario_lookup::scenario(&app, &id, query.text("version")?).await?;
    app.spec(&card).await.map(Json)
}
