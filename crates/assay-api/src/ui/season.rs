//! `/ui/arena/{id}/season`: opens and closes the season of a scenario, for administrators; the page asks first.

use askama::Template;
use assay_model::{Scope, sanitise};
use assay_store::SeasonState;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::job_line::in_words;
use super::page::{PageFrame, failure, go_to, page, to_sign_in};
use super::posted;
use super::viewer::{MaybeViewer, Viewer};
use crate::boards::scenario_board;
use crate::http::ApiError;
use crate::routes::{DEFAULT_TOP, MAX_TOP, RateClass, close_season, open_season};
use crate::scenario_lookup;
use crate::state::App;

#[derive(Template)]
#[template(path = "ui/season.html")]
struct SeasonPage {
    frame: PageFrame,
    scenario: String,
    name: String,
    version: String,
    newest: Option<SeasonFacts>,
    /// True if the next season may be opened: there is none, or the last one has ended.
    may_open: bool,
    default_top: u32,
    max_top: u32,
    complaint: Option<String>,
}

/// The newest season of the scenario.
struct SeasonFacts {
    number: u32,
    state: &'static str,
    is_open: bool,
    version: String,
    episodes: u32,
    opened: String,
    entries: usize,
}

/// Shows the newest season, and asks before it is closed or the next one is opened.
pub(crate) async fn ask(State(app): State<App>, MaybeViewer(viewer): MaybeViewer, Path(id): Path<String>) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    show(&app, &viewer, &id, None).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Opens the next season, and redirects to its board.
pub(crate) async fn open(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let (viewer, _) = match posted::receive(&app, request, RateClass::Write).await {
        Ok(sent) => sent,
        Err(error) => return failure(&app, None, &error),
    };
    let done = async {
        viewer.require(Scope::Admin)?;
        open_season(&app, &viewer.caller, &id).await.map(|_| ())
    };
    ended(&app, &viewer, &id, done.await).await
}

/// Begins to close the season, and redirects to its board.
pub(crate) async fn close(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let (viewer, form) = match posted::receive(&app, request, RateClass::Write).await {
        Ok(sent) => sent,
        Err(error) => return failure(&app, None, &error),
    };
    let done = async {
        viewer.require(Scope::Admin)?;
        let card = scenario_lookup::scenario(&app, &id, None).await?;
        let text = form.text("top").trim();
        let top = text.parse().map_err(|_| {
            ApiError::invalid("top", Some(text), format!("the number of entries must be from 0 to {MAX_TOP}"))
        })?;
        if form.text("sure").is_empty() {
            return Err(ApiError::invalid("sure", None, "confirm that the secrets shall be published"));
        }
        close_season(&app, &viewer.caller, &card.id, top).await.map(|_| ())
    };
    ended(&app, &viewer, &id, done.await).await
}

/// Leads to the board, or shows the page again with the reason for a refusal.
async fn ended(app: &App, viewer: &Viewer, id: &str, done: Result<(), ApiError>) -> Response {
    let refused = match done {
        Ok(()) => return go_to(app, &format!("/ui/arena/{id}")).into_response(),
        Err(error) => error,
    };
    let shown = match refused.status() {
        StatusCode::CONFLICT | StatusCode::BAD_REQUEST => show(app, viewer, id, Some(&refused)).await,
        _ => Err(refused),
    };
    shown.unwrap_or_else(|error| failure(app, Some(viewer), &error))
}

async fn show(app: &App, viewer: &Viewer, id: &str, refusal: Option<&ApiError>) -> Result<Response, ApiError> {
    viewer.require(Scope::Admin)?;
    let card = scenario_lookup::scenario(app, id, None).await?;
    let newest = app.records.season(&card.id, None).await?;
    let may_open = newest.as_ref().is_none_or(|season| matches!(season.state, SeasonState::Closed { .. }));
    let newest = match newest {
        Some(season) => {
            let entries = scenario_board(app, &card.id, Some(season.number)).await?.1.len();
            Some(SeasonFacts {
                number: season.number,
                state: season.state.as_str(),
                is_open: season.state == SeasonState::Open,
                version: sanitise(&season.pins.scenario_version, usize::MAX),
                episodes: season.pins.episodes,
                opened: in_words(season.opened_at),
                entries,
            })
        }
        None => None,
    };
    let content = SeasonPage {
        frame: PageFrame::new(&app.settings, Some(viewer), "arena"),
        scenario: card.id.to_string(),
        name: sanitise(&card.name, usize::MAX),
        version: sanitise(&card.version, usize::MAX),
        newest,
        may_open,
        default_top: DEFAULT_TOP,
        max_top: MAX_TOP,
        complaint: refusal.map(|error| error.message().to_owned()),
    };
    Ok(page(refusal.map_or(StatusCode::OK, ApiError::status), &content))
}
