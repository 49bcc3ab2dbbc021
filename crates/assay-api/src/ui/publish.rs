//! `/ui/publish`: a scenario for everyone, checked while its author waits.

use askama::Template;
use assay_model::{ScenarioId, Scope, sanitise};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::page::{PageFrame, failure, page, to_sign_in};
use super::posted;
use super::scenarios::ScenarioTile;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{RateClass, precheck_publication, publish_form};
use crate::state::App;
use crate::upload::{self, SCENARIO_PAGE_PARTS};

#[derive(Template)]
#[template(path = "ui/publish.html")]
struct PublishPage {
    frame: PageFrame,
    account: String,
    max_mib: u64,
    tags: String,
    /// Reason why the last try was refused.
    complaint: Option<String>,
}

/// A scenario that was just published.
#[derive(Template)]
#[template(path = "ui/published.html")]
struct PublishedPage {
    frame: PageFrame,
    tile: ScenarioTile,
    version: String,
    digest: String,
    tags: String,
    versions: usize,
}

/// Shows the form.
pub(crate) async fn form(State(app): State<App>, MaybeViewer(viewer): MaybeViewer) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    match viewer.require(Scope::Publish) {
        Ok(()) => show(&app, &viewer, StatusCode::OK, String::new(), None),
        Err(error) => failure(&app, Some(&viewer), &error),
    }
}

/// Receives the form, checks the scenario and publishes it; the answer shows the result of the check.
pub(crate) async fn submit(State(app): State<App>, request: Request) -> Response {
    let viewer = match posted::sender(&app, request.headers(), RateClass::Write).await {
        Ok(viewer) => viewer,
        Err(error) => return failure(&app, None, &error),
    };
    publish(&app, &viewer, request).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn publish(app: &App, viewer: &Viewer, request: Request) -> Result<Response, ApiError> {
    viewer.require(Scope::Publish)?;
    precheck_publication(app, &viewer.caller, false).await?;
    let form = upload::receive(app, &viewer.caller, request, SCENARIO_PAGE_PARTS).await?;
    posted::check_token(viewer, form.text("csrf").unwrap_or_default())?;
    let form = form.without_blanks();
    let tags = form.text("tags").map(|text| sanitise(text, usize::MAX)).unwrap_or_default();
    match publish_form(app, &viewer.caller, form).await {
        Ok(id) => show_published(app, viewer, &id).await,
        Err(error) if error.status() == StatusCode::INTERNAL_SERVER_ERROR => Err(error),
        Err(error) => Ok(show(app, viewer, error.status(), tags, Some(error.message().to_owned()))),
    }
}

fn show(app: &App, viewer: &Viewer, status: StatusCode, tags: String, complaint: Option<String>) -> Response {
    let page_content = PublishPage {
        frame: PageFrame::new(&app.settings, Some(viewer), "scenarios"),
        account: viewer.caller.key.account.to_string(),
        max_mib: app.settings.uploads.max_scenario_bytes >> 20,
        tags,
        complaint,
    };
    page(status, &page_content)
}

async fn show_published(app: &App, viewer: &Viewer, id: &ScenarioId) -> Result<Response, ApiError> {
    let scenario = app.records.community_scenario(id).await?.ok_or_else(|| ApiError::not_found("scenario"))?;
    let versions = app.records.community_versions(id).await?;
    let page_content = PublishedPage {
        frame: PageFrame::new(&app.settings, Some(viewer), "scenarios"),
        version: scenario.card.version.clone(),
        digest: scenario.card.digest.to_string(),
        tags: sanitise(&scenario.tags.join(", "), usize::MAX),
        versions: versions.len(),
        tile: ScenarioTile::published(app, &scenario),
    };
    Ok(page(StatusCode::CREATED, &page_content))
}
