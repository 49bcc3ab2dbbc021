//! `POST /ui/verifications/{id}/replay`: runs an episode again, and shows whether it was bit-identical.

use askama::Template;
use assay_model::{JobStatus, PolicyIdentity, Scope, Sha256Digest, sanitise};
use assay_report::ReplayReport;
use assay_store::JobRecord;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::page::{PageFrame, failure, page};
use super::posted;
use super::viewer::Viewer;
use crate::http::ApiError;
use crate::routes::{RateClass, replay_verification};
use crate::state::App;

#[derive(Template)]
#[template(path = "ui/replay.html")]
struct ReplayPage {
    frame: PageFrame,
    job: String,
    episode: u32,
    outcome: ReplayOutcome,
}

/// The result, or the reason why there is none.
enum ReplayOutcome {
    Compared { same: bool, steps: [u32; 2], hashes: [String; 2], lines: Vec<String> },
    Refused(String),
}

/// Replays the episode, which takes up to two minutes, and shows the result.
pub(crate) async fn submit(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let (viewer, form) = match posted::receive(&app, request, RateClass::Write).await {
        Ok(sent) => sent,
        Err(error) => return failure(&app, None, &error),
    };
    let shown = replay(&app, &viewer, &id, form.text("episode")).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Returns whether the viewer may replay episodes of the job: it has a result, and recordings and policy are kept.
pub(super) fn may_replay(viewer: &Viewer, record: &JobRecord) -> bool {
    let is_kept = record.removed.evidence_at.is_none() && record.removed.policy_at.is_none();
    let is_measured = record.header.policy_identity == PolicyIdentity::Measured;
    let is_done = record.state.status() == JobStatus::Completed;
    is_done && is_kept && is_measured && viewer.caller.has(Scope::Verify)
}

async fn replay(app: &App, viewer: &Viewer, id: &str, episode: &str) -> Result<Response, ApiError> {
    viewer.require(Scope::Verify)?;
    let whole = || ApiError::invalid("episode", Some(episode), "episode must be the number of an episode");
    let episode: u32 = episode.parse().map_err(|_| whole())?;
    let (status, outcome) = match replay_verification(app, &viewer.caller, id, episode).await {
        Ok(report) => (StatusCode::OK, ReplayOutcome::new(&report)),
        Err(error) if matches!(error.status(), StatusCode::CONFLICT | StatusCode::SERVICE_UNAVAILABLE) => {
            (error.status(), ReplayOutcome::Refused(error.message().to_owned()))
        }
        Err(error) => return Err(error),
    };
    let frame = PageFrame::new(&app.settings, Some(viewer), "jobs");
    Ok(page(status, &ReplayPage { frame, job: id.to_owned(), episode, outcome }))
}

impl ReplayOutcome {
    fn new(report: &ReplayReport) -> Self {
        let hash = |hash: Option<Sha256Digest>| hash.map_or_else(|| "none".to_owned(), |h| h.to_string());
        Self::Compared {
            same: report.same,
            steps: [report.comparison.recorded_steps, report.comparison.replayed_steps],
            hashes: [hash(report.recorded_trace_hash), hash(report.replayed_trace_hash)],
            lines: report.text().lines().map(|line| sanitise(line, usize::MAX)).collect(),
        }
    }
}
