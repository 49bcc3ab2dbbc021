//! `POST /seasons`: opens the next season of a scenario.

use assay_model::ScenarioId;
use assay_store::{OpenSeasonOutcome, Season, SeasonState};
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use serde::Deserialize;

use super::view::SeasonView;
use crate::http::{ApiError, Caller, ErrorCode, Json, json_body, read_body};
use crate::routes::openapi::body::schema_of;
use crate::scenario_lookup;
use crate::seasons::new_season;
use crate::state::App;

/// The season to open.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct NewSeasonRequest {
    /// The scenario: a curated one, or a published one in its highest version.
    scenario: ScenarioId,
}

/// Open a season
///
/// Opens the next season of a scenario, in its current version and on this server's machine fingerprint: it accepts
/// submissions from now on. 409 if its last season has not ended.
#[utoipa::path(
    post, path = "/seasons", operation_id = "open_season", tag = "arena",
    request_body(content = ref(schema_of::<NewSeasonRequest>())),
    responses((status = 201, body = ref(schema_of::<SeasonView>())), (status = 400), (status = 404), (status = 408), (status = 409), (status = 410), (status = 413), (status = 415)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<(StatusCode, Json<SeasonView>), ApiError> {
    let wish: NewSeasonRequest = read_body(&json_body(&app, request).await?, false)?;
    let season = open_season(&app, &caller, wish.scenario.as_str()).await?;
    Ok((StatusCode::CREATED, Json(SeasonView::load(&app, season).await?)))
}

/// Opens the next season of the scenario with this id.
pub(crate) async fn open_season(app: &App, caller: &Caller, scenario: &str) -> Result<Season, ApiError> {
    let scenario = scenario_lookup::scenario(app, scenario, None).await?;
    match app.records.open_season(new_season(app, &scenario)).await? {
        OpenSeasonOutcome::New(season) => {
            tracing::info!(key.id = %caller.key.id, scenario.id = %season.scenario, season = season.number, "opened a season");
            Ok(season)
        }
        OpenSeasonOutcome::Already(season) => {
            let advice = match season.state {
                SeasonState::Open => "is open; close it first",
                SeasonState::Closing { .. } | SeasonState::Closed { .. } => "is closing; wait for its reruns",
            };
            let message = format!("season {} of {} {advice}", season.number, season.scenario);
            Err(ApiError::new(ErrorCode::Conflict, message))
        }
    }
}
