//! `/ui/jobs`: the account's verifications, newest first, with filters.

use askama::Template;
use assay_model::{JobKind, Scope};
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::job_line::JobLine;
use super::page::{PageFrame, failure, go_to, page};
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{WantedJobs, wanted_jobs};
use crate::state::App;

/// Values of the filters, in the order of the form.
const STATUSES: [&str; 6] = ["QUEUED", "RUNNING", "JUDGING", "COMPLETED", "FAILED", "CANCELLED"];
const VERDICTS: [&str; 3] = ["SAFE", "UNSAFE", "INCONCLUSIVE"];

#[derive(Template)]
#[template(path = "ui/jobs.html")]
struct JobListPage {
    frame: PageFrame,
    lines: Vec<JobLine>,
    total: u64,
    status: String,
    verdict: String,
    statuses: [&'static str; 6],
    verdicts: [&'static str; 3],
    /// Queries of the neighbouring pages, without the question mark.
    newer: Option<String>,
    older: Option<String>,
}

/// Shows the list, or redirects a visitor who is not signed in to the form for signing in.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return go_to(&app, "/ui/sign-in").into_response() };
    let shown = show(&app, &viewer, query.as_deref().unwrap_or_default()).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer, query: &str) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    // A form sends its empty fields too; for the API they are errors.
    let given: Vec<(String, String)> =
        form_urlencoded::parse(query.as_bytes()).into_owned().filter(|(_, value)| !value.is_empty()).collect();
    let value = |name: &str| given.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value).to_owned();
    let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(&given).finish();
    let WantedJobs { limit, offset, filter } =
        wanted_jobs(Some(&text), JobKind::Verify, &viewer.caller, app.clock.now())?;
    let (records, total) = match filter {
        Some(filter) => app.records.jobs(&filter).await?,
        None => (Vec::new(), 0),
    };
    let (status, verdict) = (value("status"), value("verdict"));
    let at = |offset: u32| {
        let (limit, offset) = (limit.to_string(), offset.to_string());
        let pairs = [("status", &status), ("verdict", &verdict), ("limit", &limit), ("offset", &offset)];
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    };
    let next = offset.saturating_add(limit);
    Ok(page(
        StatusCode::OK,
        &JobListPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "jobs"),
            lines: records.iter().map(JobLine::new).collect(),
            total,
            newer: (offset > 0).then(|| at(offset.saturating_sub(limit))),
            older: (u64::from(next) < total).then(|| at(next)),
            status,
            verdict,
            statuses: STATUSES,
            verdicts: VERDICTS,
        },
    ))
}
