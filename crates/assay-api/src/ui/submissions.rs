//! `/ui/submissions`: the account's submissions to the arena, in their published state, and the page of one.

use askama::Template;
use assay_model::{JobKind, Scope, sanitise};
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::job_line::in_words;
use super::page::{PageFrame, failure, page, to_sign_in};
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::published::PublishedSubmission;
use crate::routes::{
    ReadAccess, Submission, SubmissionEntry, WantedJobs, submission_entry, submission_object, wanted_jobs,
};
use crate::state::App;

#[derive(Template)]
#[template(path = "ui/submissions.html")]
struct SubmissionsPage {
    frame: PageFrame,
    lines: Vec<SubmissionLine>,
    total: u64,
    older: Option<u32>,
}

#[derive(Template)]
#[template(path = "ui/submission.html")]
struct SubmissionDetailPage {
    frame: PageFrame,
    line: SubmissionLine,
    description: String,
    reason: String,
    error: String,
    waits: String,
    video: Option<String>,
}

/// A submission in a list.
struct SubmissionLine {
    id: String,
    name: String,
    scenario: String,
    season: u32,
    word: String,
    tone: &'static str,
    score: String,
    at: String,
    is_erased: bool,
}

impl SubmissionLine {
    fn new(entry: &SubmissionEntry) -> Self {
        let verdict = entry.verdict.map(|verdict| verdict.to_string());
        Self {
            id: entry.id.to_string(),
            name: sanitise(&entry.name, usize::MAX),
            scenario: entry.scenario_id.to_string(),
            season: entry.season,
            tone: match verdict.as_deref() {
                Some("SAFE") => "good",
                Some("UNSAFE") => "bad",
                Some(_) => "open",
                None => "calm",
            },
            word: verdict.unwrap_or_else(|| entry.status.as_str().to_owned()),
            score: entry.score.map_or_else(|| "-".to_owned(), |score| format!("{score:.1}")),
            at: in_words(entry.created_at),
            is_erased: entry.erased_at.is_some(),
        }
    }
}

/// Shows the account's submissions.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    list(&app, &viewer, query.as_deref()).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Shows a submission.
pub(crate) async fn one(State(app): State<App>, MaybeViewer(viewer): MaybeViewer, Path(id): Path<String>) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    show(&app, &viewer, &id).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn list(app: &App, viewer: &Viewer, query: Option<&str>) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    // A single time for the filter and the entries, so that every entry matches the filter.
    let now = app.clock.now();
    let WantedJobs { limit, offset, filter } = wanted_jobs(query, JobKind::Submission, &viewer.caller, now)?;
    let (mut lines, mut total) = (Vec::new(), 0);
    if let Some(filter) = filter {
        let (records, matching) = app.records.jobs(&filter).await?;
        total = matching;
        for record in records {
            let published = PublishedSubmission::read(&*app.records, record, now).await?;
            lines.push(SubmissionLine::new(&submission_entry(&published)));
        }
    }
    let next = offset.saturating_add(limit);
    let older = (u64::from(next) < total).then_some(next);
    let frame = PageFrame::new(&app.settings, Some(viewer), "arena");
    Ok(page(StatusCode::OK, &SubmissionsPage { frame, lines, total, older }))
}

async fn show(app: &App, viewer: &Viewer, id: &str) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let Submission { published, .. } = Submission::<ReadAccess>::named(app, &viewer.caller, id).await?;
    let job = published.record();
    viewer.caller.record_access(app, (&job.account, &job.header.job_id), "opened the page of a submission").await?;
    let found = submission_object(app, &published).await?;
    let text = |text: Option<&String>| text.map(|text| sanitise(text, usize::MAX)).unwrap_or_default();
    let waits = match (found.eta_s, &found.waiting_for) {
        (Some(seconds), Some(what)) => format!("It waits for {what}; about {seconds:.0} s left."),
        (None, Some(what)) => format!("It waits for {what}."),
        _ => String::new(),
    };
    let content = SubmissionDetailPage {
        frame: PageFrame::new(&app.settings, Some(viewer), "arena"),
        line: SubmissionLine::new(&found.entry),
        description: text(found.description.as_ref()),
        reason: text(found.reason.as_ref()),
        error: text(found.error_message.as_ref()),
        waits,
        video: found.video_url,
    };
    Ok(page(StatusCode::OK, &content))
}
