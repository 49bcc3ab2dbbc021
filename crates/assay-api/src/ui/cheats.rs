//! `/ui/scenarios/{id}/cheats`: policies that exploit the rules of a built-in scenario, and the verdicts they get.

use askama::Template;
use assay_model::{Scope, sanitise};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::page::{PageFrame, failure, page, to_sign_in};
use super::viewer::{MaybeViewer, Viewer};
use crate::book;
use crate::http::ApiError;
use crate::scenario_lookup;
use crate::state::App;

/// Name of the book's page with a section for each scenario.
const PAGE: &str = "cheating";

#[derive(Template)]
#[template(path = "ui/cheats.html")]
struct CheatsPage {
    frame: PageFrame,
    id: String,
    name: String,
    /// HTML of the book.
    table: &'static str,
}

/// Shows the page.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    Path(id): Path<String>,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    show(&app, &viewer, &id).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Returns the table of a scenario's cheats, as HTML.
pub(super) fn cheats(id: &str) -> Option<&'static str> {
    book::section(PAGE, id).filter(|html| html.contains("<table>"))
}

async fn show(app: &App, viewer: &Viewer, id: &str) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let card = scenario_lookup::scenario(app, id, None).await?;
    let table = cheats(card.id.as_str()).ok_or_else(|| ApiError::not_found("page of cheats"))?;
    let frame = PageFrame::new(&app.settings, Some(viewer), "scenarios");
    let (id, name) = (card.id.to_string(), sanitise(&card.name, usize::MAX));
    Ok(page(StatusCode::OK, &CheatsPage { frame, id, name, table }))
}
