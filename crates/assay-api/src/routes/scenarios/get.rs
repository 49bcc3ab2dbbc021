//! `GET /scenarios/{id}`.

use axum::extract::{Path, RawQuery, State};

use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::scenario_lookup;
use crate::state::App;
use crate::views::ScenarioDetail;

/// Get a scenario
///
/// Returns the card of a scenario, with its full description. Accepts the id of any built-in or published scenario.
#[utoipa::path(
    get, path = "/scenarios/{id}", operation_id = "scenario", tag = "scenarios",
    params(
        ("id" = String, Path, description = "Id of the scenario", pattern = "^[a-z0-9][a-z0-9_-]*(\\.[a-z0-9][a-z0-9_-]*)?$", max_length = 100),
        ("version" = Option<String>, Query, description = "Version of the scenario; the highest if absent", min_length = 1),
    ),
    responses((status = 200, body = ref(schema_of::<ScenarioDetail>())), (status = 400), (status = 404), (status = 409), (status = 410)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<ScenarioDetail>, ApiError> {
    let query = Query::parse(query.as_deref());
    let card = scenario_lookup::scenario(&app, &id, query.text("version")?).await?;
    Ok(Json(ScenarioDetail::new(&card)))
}
