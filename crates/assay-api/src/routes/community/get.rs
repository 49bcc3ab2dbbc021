//! `GET /community/scenarios/{id}`.

use axum::extract::{Path, RawQuery, State};

use crate::http::{ApiError, Json};
use crate::routes::community::view::{CommunityScenarioDetail, detail};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::scenario_lookup::{self, PublishedScenario};
use crate::state::App;

/// Get a published scenario
///
/// Returns the highest version, or the one given by `version`, with its author's description and a list of all
/// versions. Responds with 410 if the scenario was deleted.
#[utoipa::path(
    get, path = "/community/scenarios/{id}", operation_id = "community_scenario", tag = "scenarios",
    params(
        ("id" = String, Path, description = "Id of the published scenario: account.name", pattern = "^[a-z0-9][a-z0-9_-]*\\.[a-z0-9][a-z0-9_-]*$", max_length = 100),
        ("version" = Option<String>, Query, description = "Version of the scenario; the highest if absent", min_length = 1),
    ),
    responses((status = 200, body = ref(schema_of::<CommunityScenarioDetail>())), (status = 400), (status = 404), (status = 409), (status = 410)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<CommunityScenarioDetail>, ApiError> {
    let query = Query::parse(query.as_deref());
    let PublishedScenario { scenario, versions } =
        scenario_lookup::published(&app, &id, query.text("version")?).await?;
    Ok(Json(detail(&app, &scenario, versions)))
}
