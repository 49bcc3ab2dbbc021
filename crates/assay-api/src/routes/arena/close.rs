//! `POST /seasons/close`: closes the open season of a scenario.

use assay_model::ScenarioId;
use assay_store::Season;
use axum::Extension;
use axum::extract::{Request, State};
use serde::Deserialize;

use super::view::SeasonView;
use crate::http::{ApiError, Caller, ErrorCode, Json, json_body, read_body};
use crate::routes::openapi::body::schema_of;
use crate::seasons::random_secret;
use crate::state::App;

/// Maximum number of entries that run again.
pub(crate) const MAX_TOP: u32 = 1000;
/// Number of entries that run again by default.
pub(crate) const DEFAULT_TOP: u32 = 10;

/// Request to close a season.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct SeasonEnd {
    /// The scenario whose open season is closed.
    scenario: ScenarioId,
    /// Number of entries, from the first rank on, that run again on fresh seeds; 10 if absent.
    #[serde(default = "default_top")]
    #[schemars(range(max = 1000))]
    top: u32,
}

fn default_top() -> u32 {
    DEFAULT_TOP
}

/// Close a season
///
/// Ends the open season of a scenario: it accepts no more submissions, its first entries run again on fresh seeds, and
/// then its secrets and evidence are published. Until then its state is `CLOSING`. 409 if no season is open.
#[utoipa::path(
    post, path = "/seasons/close", operation_id = "close_season", tag = "arena",
    request_body(content = ref(schema_of::<SeasonEnd>())),
    responses((status = 200, body = ref(schema_of::<SeasonView>())), (status = 400), (status = 408), (status = 409), (status = 413), (status = 415)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Json<SeasonView>, ApiError> {
    let SeasonEnd { scenario, top } = read_body(&json_body(&app, request).await?, false)?;
    let season = close_season(&app, &caller, &scenario, top).await?;
    Ok(Json(SeasonView::load(&app, season).await?))
}

/// Begins to close the open season of a scenario, of which the first `top` entries run again.
pub(crate) async fn close_season(
    app: &App,
    caller: &Caller,
    scenario: &ScenarioId,
    top: u32,
) -> Result<Season, ApiError> {
    if top > MAX_TOP {
        return Err(ApiError::invalid("top", Some(&top.to_string()), format!("top must be at most {MAX_TOP}")));
    }
    let closing = app.records.begin_closing_season(scenario, top, random_secret(app), app.clock.now()).await?;
    let season = closing.ok_or_else(|| ApiError::new(ErrorCode::Conflict, format!("{scenario} has no open season")))?;
    tracing::info!(key.id = %caller.key.id, scenario.id = %scenario, season = season.number, top, "began closing a season");
    Ok(season)
}
