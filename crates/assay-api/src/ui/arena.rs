//! `/ui/arena`: the seasons, and the board of a scenario's season with intervals of ranks and scores.

use askama::Template;
use assay_model::{ScenarioId, Scope, sanitise};
use assay_store::SeasonState;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::job_line::in_words;
use super::page::{PageFrame, failure, page, to_sign_in};
use super::viewer::{MaybeViewer, Viewer};
use crate::boards::{LeaderboardEntry, scenario_board};
use crate::http::ApiError;
use crate::routes::Query;
use crate::scenario_lookup;
use crate::state::App;

/// Width of the drawing of an interval, in pixels.
const WIDTH: f64 = 200.0;
/// Smallest width of an interval, in pixels.
const LEAST_WIDTH: f64 = 3.0;
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
    /// True if the page shows its board.
    is_shown: bool,
}

/// An entry of a board.
struct BoardLine {
    rank: String,
    is_tied: bool,
    policy: String,
    account: String,
    /// Id of the submission, if it is the viewer's own.
    own: Option<String>,
    verdict: String,
    tone: &'static str,
    score: String,
    scores: IntervalBar,
    ranks: Option<IntervalBar>,
    safety: String,
    success: String,
}

/// An interval in words and as a line in a drawing.
struct IntervalBar {
    words: String,
    x: f64,
    width: f64,
}

impl IntervalBar {
    fn new(low: f64, high: f64, most: f64, words: String) -> Self {
        let at = |value: f64| WIDTH * (value / most.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let width = (at(high) - at(low)).max(LEAST_WIDTH);
        Self { words, x: at(low).min(WIDTH - width), width }
    }
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
        is_shown: shown == Some(season.number),
    };
    Ok(found.into_iter().map(line).collect())
}

impl BoardLine {
    fn new(entry: &LeaderboardEntry, all: &[LeaderboardEntry], most: f64, viewer: &Viewer) -> Self {
        let ties = all.iter().filter(|other| entry.rank.is_some() && other.rank == entry.rank).count();
        #[expect(clippy::cast_precision_loss, reason = "entries are counted in thousands")]
        let count = all.len() as f64;
        let ranks = entry.rank_low.zip(entry.rank_high).map(|(low, high)| {
            let words = if low == high { format!("rank {low}") } else { format!("rank {low} to {high}") };
            // A rank covers the range from its predecessor to itself.
            IntervalBar::new(f64::from(low) - 1.0, f64::from(high), count, words)
        });
        let is_own = entry.account == viewer.caller.key.account;
        let verdict = entry.verdict.to_string();
        let share = |share: f64| format!("{:.1} %", share * 100.0);
        Self {
            rank: entry.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string()),
            is_tied: ties > 1,
            policy: sanitise(entry.policy_name.as_deref().unwrap_or_default(), usize::MAX),
            account: entry.account.to_string(),
            own: entry.submission_id.filter(|_| is_own).map(|id| id.to_string()),
            tone: match &*verdict {
                "SAFE" => "good",
                "UNSAFE" => "bad",
                _ => "open",
            },
            verdict,
            score: format!("{:.1}", entry.score),
            scores: IntervalBar::new(
                entry.score_low,
                entry.score_high,
                most,
                format!("{:.0} to {:.0}", entry.score_low, entry.score_high),
            ),
            ranks,
            safety: entry.safety_score.map_or_else(|| "after the season".to_owned(), |score| format!("{score:.3}")),
            success: share(entry.success_rate),
        }
    }
}
