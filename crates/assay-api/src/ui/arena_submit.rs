//! `/ui/arena/{id}/submit`: a policy for the season of a scenario.

use askama::Template;
use assay_model::{Scope, sanitise};
use assay_store::SeasonState;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};

use super::page::{PageFrame, failure, go_to, page, to_sign_in};
use super::posted;
use super::viewer::{MaybeViewer, Viewer};
use crate::acceptance::JobOrigin;
use crate::http::{ApiError, ErrorCode};
use crate::routes::{RateClass, submit_form};
use crate::scenario_lookup;
use crate::state::App;
use crate::upload::{self, ARENA_PAGE_PARTS};

#[derive(Template)]
#[template(path = "ui/arena_submit.html")]
struct ArenaSubmitPage {
    frame: PageFrame,
    scenario: String,
    scenario_name: String,
    /// Number and episodes of the open season; the first submission opens the first one.
    season: Option<(u32, u32)>,
    max_mib: u64,
    name: String,
    description: String,
    /// Reason why the last try was refused.
    complaint: Option<String>,
}

/// The fields as they were sent.
#[derive(Default)]
struct SentFields {
    name: String,
    description: String,
    complaint: Option<String>,
}

/// Shows the form.
pub(crate) async fn form(State(app): State<App>, MaybeViewer(viewer): MaybeViewer, Path(id): Path<String>) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = show(&app, &viewer, &id, StatusCode::OK, SentFields::default()).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Receives the form, submits the policy and redirects to the submission's page.
pub(crate) async fn submit(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let viewer = match posted::sender(&app, request.headers(), RateClass::Submit).await {
        Ok(viewer) => viewer,
        Err(error) => return failure(&app, None, &error),
    };
    queue(&app, &viewer, &id, request).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn queue(app: &App, viewer: &Viewer, id: &str, request: Request) -> Result<Response, ApiError> {
    viewer.require(Scope::Submit)?;
    let origin = JobOrigin::begin(app, &viewer.caller, None, &Uri::from_static("/submissions")).await?;
    let form = upload::receive(app, &viewer.caller, request, ARENA_PAGE_PARTS).await?;
    posted::check_token(viewer, form.text("csrf").unwrap_or_default())?;
    let form = form.without_blanks();
    let text = |name| form.text(name).map(|text| sanitise(text, usize::MAX)).unwrap_or_default();
    let sent = SentFields { name: text("name"), description: text("description"), complaint: None };
    match submit_form(app, &viewer.caller, &origin, form).await {
        Ok(accepted) => {
            let path = format!("/ui/submissions/{}", accepted.body.submission_id);
            Ok(go_to(app, &path).into_response())
        }
        Err(error) if error.is_server_error() => Err(error),
        Err(error) => {
            let sent = SentFields { complaint: Some(error.message().to_owned()), ..sent };
            show(app, viewer, id, error.status(), sent).await
        }
    }
}

async fn show(
    app: &App,
    viewer: &Viewer,
    id: &str,
    status: StatusCode,
    sent: SentFields,
) -> Result<Response, ApiError> {
    viewer.require(Scope::Submit)?;
    let card = scenario_lookup::scenario(app, id, None).await?;
    let season = app.records.season(&card.id, None).await?;
    if season.as_ref().is_some_and(|season| season.state != SeasonState::Open) {
        return Err(ApiError::new(ErrorCode::Conflict, "this scenario has no open season"));
    }
    let page_content = ArenaSubmitPage {
        frame: PageFrame::new(&app.settings, Some(viewer), "arena"),
        scenario: card.id.to_string(),
        scenario_name: sanitise(&card.name, usize::MAX),
        season: season.map(|season| (season.number, season.pins.episodes)),
        max_mib: app.settings.uploads.max_bytes >> 20,
        name: sent.name,
        description: sent.description,
        complaint: sent.complaint,
    };
    Ok(page(status, &page_content))
}
