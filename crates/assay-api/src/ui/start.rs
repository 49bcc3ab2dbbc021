//! `/ui`: a description of the service, or for a signed-in person what runs and what needs attention.

use askama::Template;
use assay_model::{JobKind, Scope};
use assay_store::JobFilter;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::job_line::JobLine;
use super::page::{PageFrame, failure, go_to, page};
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::state::App;

/// Number of the newest jobs that the page considers.
const NEWEST: u32 = 20;

#[derive(Template)]
#[template(path = "ui/welcome.html")]
struct WelcomePage {
    frame: PageFrame,
    scenarios: usize,
}

#[derive(Template)]
#[template(path = "ui/start.html")]
struct StartPage {
    frame: PageFrame,
    /// Jobs whose verdict awaits a manual review.
    waiting: Vec<JobLine>,
    open: Vec<JobLine>,
    ended: Vec<JobLine>,
    total: u64,
}

/// Shows the start page.
pub(crate) async fn handle(State(app): State<App>, MaybeViewer(viewer): MaybeViewer) -> Response {
    let Some(viewer) = viewer else {
        let scenarios = app.catalog.list().len();
        let frame = PageFrame::new(&app.settings, None, "start");
        return page(StatusCode::OK, &WelcomePage { frame, scenarios });
    };
    show(&app, &viewer).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Redirects from `/ui/` to `/ui`.
pub(crate) async fn folder(State(app): State<App>) -> Response {
    go_to(&app, "/ui").into_response()
}

async fn show(app: &App, viewer: &Viewer) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let filter = JobFilter {
        kind: JobKind::Verify,
        account: Some(viewer.caller.key.account.clone()),
        limit: NEWEST,
        ..JobFilter::default()
    };
    let (records, total) = app.records.jobs(&filter).await?;
    let (open, ended): (Vec<_>, Vec<_>) = records.iter().map(JobLine::new).partition(|line| line.is_open);
    let (waiting, ended) = ended.into_iter().partition(|line| line.needs_review);
    let frame = PageFrame::new(&app.settings, Some(viewer), "start");
    Ok(page(StatusCode::OK, &StartPage { frame, waiting, open, ended, total }))
}
