//! `/ui/collections`: the sets of scenarios; one of them, with its scenarios and its board.

use askama::Template;
use assay_model::{Scope, sanitise};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::board_line::BoardLine;
use super::page::{PageFrame, failure, page, to_sign_in};
use super::scenarios::ScenarioTile;
use super::viewer::{MaybeViewer, Viewer};
use crate::boards::combined_board;
use crate::http::ApiError;
use crate::state::App;

/// Maximum number of entries on a collection's board.
const MAX_ENTRIES: usize = 50;

#[derive(Template)]
#[template(path = "ui/collections.html")]
struct CollectionsPage {
    frame: PageFrame,
    lines: Vec<CollectionLine>,
}

#[derive(Template)]
#[template(path = "ui/collection.html")]
struct CollectionPage {
    frame: PageFrame,
    name: String,
    description: String,
    tiles: Vec<ScenarioTile>,
    lines: Vec<BoardLine>,
    total: usize,
}

/// A collection in the list.
struct CollectionLine {
    id: String,
    name: String,
    description: String,
    scenarios: usize,
}

/// Shows the list.
pub(crate) async fn handle(State(app): State<App>, MaybeViewer(viewer): MaybeViewer) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    if let Err(error) = viewer.require(Scope::Read) {
        return failure(&app, Some(&viewer), &error);
    }
    let text = |text: &str| sanitise(text, usize::MAX);
    let line = |one: &assay_scenario::Collection| CollectionLine {
        id: one.id.clone(),
        name: text(&one.name),
        description: text(&one.description),
        scenarios: one.scenarios.len(),
    };
    let frame = PageFrame::new(&app.settings, Some(&viewer), "scenarios");
    page(StatusCode::OK, &CollectionsPage { frame, lines: app.catalog.collections().iter().map(line).collect() })
}

/// Shows one collection.
pub(crate) async fn one(State(app): State<App>, MaybeViewer(viewer): MaybeViewer, Path(id): Path<String>) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    show(&app, &viewer, &id).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer, id: &str) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let found = app.catalog.collections().iter().find(|one| one.id == id);
    let found = found.ok_or_else(|| ApiError::not_found("collection"))?;
    let ids: Vec<_> = found.scenarios.iter().filter_map(|id| id.parse().ok()).collect();
    let cards: Vec<_> = ids.iter().filter_map(|id| app.catalog.get(id)).collect();
    let entries = combined_board(app, &format!("collection {id}"), ids).await?;
    let most = entries.iter().map(|entry| entry.score_high).fold(f64::MIN_POSITIVE, f64::max);
    let lines = entries.iter().take(MAX_ENTRIES).map(|entry| BoardLine::new(entry, &entries, most, viewer)).collect();
    Ok(page(
        StatusCode::OK,
        &CollectionPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "scenarios"),
            name: sanitise(&found.name, usize::MAX),
            description: sanitise(&found.description, usize::MAX),
            tiles: cards.iter().map(|card| ScenarioTile::new(app, card)).collect(),
            lines,
            total: entries.len(),
        },
    ))
}
