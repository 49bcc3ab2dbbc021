//! `/ui/arena`: the seasons, and the board of a scenario's season with intervals of ranks and scores.

use askama::Template;
use assay_model::{ScenarioId, Scope, sanitise};
use assay_store::SeasonState;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::board_line::BoardLine;
use super::job_line::in_words;
use super::page::{PageFrame, failure, page, to_sign_in};
use super::viewer::{MaybeViewer, Viewer};
use crate::boards::{LeaderboardEntry, scenario_board};
use crate::http::ApiError;
use crate::routes::Query;
use crate::scenario_lookup;
use crate::state::App;

/// Maximum number of entries on a board's page.
const MAX_ENTRIES: usize = 100;

#[derive(Template)]
#[template(path = "ui/arena.html")]
struct ArenaPage {
    frame: PageFrame,
    seasons: Vec<SeasonLine>,
}

#[derive(Template)]
#[template(path = "ui/board.html")]
struct BoardPage {
    frame: PageFrame,
    scenario: String,
    name: String,
    season: Option<u32>,
    seasons: Vec<SeasonLine>,
    lines: Vec<BoardLine>,
    total: usize,
    /// True if the viewer may submit to the scenario's season, which is open.
    can_submit: bool,
}

/// A season in a list.
struct SeasonLine {
    scenario: String,
    number: u32,
    state: &'static str,
    opened: String,
    closed: Option<String>,
    episodes: u32,
    is_open: bool,
    /// True if the page shows its board.
    is_shown: bool,
}

/// Shows the seasons.
pub(crate) async fn handle(State(app): State<App>, MaybeViewer(viewer): MaybeViewer) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = async {
        viewer.require(Scope::Read)?;
        let frame = PageFrame::new(&app.settings, Some(&viewer), "arena");
        Ok(page(StatusCode::OK, &ArenaPage { frame, seasons: seasons(&app, None, None).await? }))
    };
    shown.await.unwrap_or_else(|error: ApiError| failure(&app, Some(&viewer), &error))
}

/// Shows a board.
pub(crate) async fn board(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = show(&app, &viewer, &id, query.as_deref()).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer, id: &str, query: Option<&str>) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let card = scenario_lookup::scenario(app, id, None).await?;
    let query = Query::parse(query);
    let number = match query.text("season")? {
        Some(text) => Some(
            text.parse()
                .map_err(|_| ApiError::invalid("season", Some(text), "season must be the number of a season"))?,
        ),
        None => None,
    };
    let (season, entries) = scenario_board(app, &card.id, number).await?;
    let most = entries.iter().map(|entry| entry.score_high).fold(f64::from(card.max_score), f64::max);
    let line = |entry: &LeaderboardEntry| BoardLine::new(entry, &entries, most, viewer);
    let lines = entries.iter().take(MAX_ENTRIES).map(line).collect();
    let seasons = seasons(app, Some(&card.id), season).await?;
    let newest = app.records.season(&card.id, None).await?;
    let is_open = newest.is_none_or(|season| season.state == SeasonState::Open);
    Ok(page(
        StatusCode::OK,
        &BoardPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "arena"),
            scenario: card.id.to_string(),
            name: sanitise(&card.name, usize::MAX),
            season,
            seasons,
            can_submit: is_open && viewer.caller.has(Scope::Submit),
            lines,
            total: entries.len(),
        },
    ))
}

async fn seasons(app: &App, scenario: Option<&ScenarioId>, shown: Option<u32>) -> Result<Vec<SeasonLine>, ApiError> {
    let found = app.records.seasons(scenario).await?;
    let line = |season: assay_store::Season| SeasonLine {
        scenario: season.scenario.to_string(),
        number: season.number,
        state: season.state.as_str(),
        opened: in_words(season.opened_at),
        closed: match season.state {
            SeasonState::Closed { at } => Some(in_words(at)),
            SeasonState::Open | SeasonState::Closing { .. } => None,
        },
        episodes: season.pins.episodes,
        is_open: season.state == SeasonState::Open,
        is_shown: shown == Some(season.number),
    };
    Ok(found.into_iter().map(line).collect())
}
