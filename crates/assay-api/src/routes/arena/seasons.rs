//! `GET /seasons`: all seasons, including the secrets of those that are closed.

use assay_model::{ScenarioId, Sha256Digest};
use assay_store::{Season, SeasonState};
use axum::extract::{RawQuery, State};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::state::App;

/// All seasons, ordered by scenario, newest first.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct SeasonList {
    seasons: Vec<SeasonView>,
}

/// A season of the arena on one scenario.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Season")]
pub(in crate::routes) struct SeasonView {
    scenario: ScenarioId,
    /// Number of the season, counted from 1 for each scenario.
    number: u32,
    /// `OPEN`, `CLOSING` or `CLOSED`.
    #[schemars(pattern("^(OPEN|CLOSING|CLOSED)$"))]
    state: String,
    scenario_version: String,
    /// SHA-256 over the scenario's files, hexadecimal.
    scenario_digest: Sha256Digest,
    /// Number of scored episodes in a submission.
    episodes: u32,
    max_score: u32,
    opened_at: Timestamp,
    closed_at: Option<Timestamp>,
    /// SHA-256 of the season's secret, hexadecimal; published when the season opens.
    commitment: Sha256Digest,
    /// Secret from which all worlds are drawn, hexadecimal; `null` until the season is closed.
    #[schemars(pattern("^[0-9a-f]{64}$"))]
    secret: Option<String>,
    /// Secret of the reruns at the end of the season, hexadecimal; `null` until the season is closed.
    #[schemars(pattern("^[0-9a-f]{64}$"))]
    rerun_secret: Option<String>,
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
        seasons.push(entry(&app, season).await?);
    }
    Ok(Json(SeasonList { seasons }))
}

async fn entry(app: &App, season: Season) -> Result<SeasonView, ApiError> {
    let closed_at = match season.state {
        SeasonState::Closed { at } => Some(at),
        SeasonState::Open | SeasonState::Closing { .. } => None,
    };
    let secrets = match closed_at {
        Some(_) => app.records.season_secrets(&season.scenario, season.number).await?,
        None => None,
    };
    Ok(SeasonView {
        scenario: season.scenario,
        number: season.number,
        state: season.state.as_str().to_owned(),
        scenario_version: season.pins.scenario_version,
        scenario_digest: season.pins.scenario_digest,
        episodes: season.pins.episodes,
        max_score: season.pins.max_score,
        opened_at: season.opened_at,
        closed_at,
        commitment: season.commitment,
        secret: secrets.as_ref().map(|secrets| secrets.season.to_hex()),
        rerun_secret: secrets.and_then(|secrets| secrets.rerun).map(|secret| secret.to_hex()),
    })
}
