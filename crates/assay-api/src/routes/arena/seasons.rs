//! `GET /seasons`: all seasons, including the secrets of those that are closed.

use assay_model::ScenarioId;
use axum::extract::{RawQuery, State};
use serde::Serialize;

use super::view::SeasonView;
use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::state::App;

/// All seasons, ordered by scenario, newest first.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct SeasonList {
    seasons: Vec<SeasonView>,
}

/// List the seasons
///
/// Returns every season, ordered by scenario, newest first: its pinned scenario version, its commitment and, once it is
/// closed, its secret.
#[utoipa::path(
    get, path = "/seasons", operation_id = "seasons", tag = "arena",
    params(("scenario" = Option<String>, Query, description = "Only seasons of this scenario", min_length = 1)),
    responses((status = 200, body = ref(schema_of::<SeasonList>())), (status = 400)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Json<SeasonList>, ApiError> {
    let query = Query::parse(query.as_deref());
    let scenario = match query.text("scenario")?.map(str::parse::<ScenarioId>) {
        Some(Err(_)) => return Ok(Json(SeasonList { seasons: Vec::new() })),
        other => other.and_then(Result::ok),
    };
    let mut seasons = Vec::new();
    for season in app.records.seasons(scenario.as_ref()).await? {
        seasons.push(SeasonView::load(&app, season).await?);
    }
    Ok(Json(SeasonList { seasons }))
}
