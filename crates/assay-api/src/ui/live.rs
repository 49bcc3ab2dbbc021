//! The live page of a verification that has no verdict yet, or ended without one.

use askama::Template;
use assay_model::{JobReport, JobStatus, sanitise};
use assay_report::html;
use assay_store::JobRecord;
use axum::http::StatusCode;
use axum::response::Response;

use super::job_line::{in_words, judged};
use super::page::{PageFrame, page};
use super::viewer::Viewer;
use crate::http::ApiError;
use crate::report_assets::MAX_EPISODES;
use crate::state::App;

/// Shortest time between two updates of the page, in milliseconds.
const LEAST_PAUSE_MS: u32 = 1500;
/// Time between two updates for each recorded episode, in milliseconds: the page reads them all.
const PAUSE_PER_EPISODE_MS: u32 = 2;
/// Seconds in a minute, from which on estimates are given in minutes.
const MINUTE_S: f64 = 60.0;

#[derive(Template)]
#[template(path = "ui/live.html")]
struct LivePage {
    frame: PageFrame,
    job: String,
    policy: String,
    scenario: String,
    word: String,
    tone: &'static str,
    message: String,
    estimate: String,
    stages: Vec<StageMark>,
    done: u32,
    total: u32,
    is_open: bool,
    /// Time between two updates of the page, in milliseconds.
    pause_ms: u32,
    may_cancel: bool,
    /// Margins and episodes so far: HTML, escaped.
    parts: String,
    accepted: String,
}

/// A stage on the way to the verdict.
struct StageMark {
    name: &'static str,
    /// `past`, `now` or `next`.
    state: &'static str,
}

/// Shows the page of a job that is not COMPLETED.
pub(super) async fn show(app: &App, viewer: &Viewer, record: &JobRecord) -> Result<Response, ApiError> {
    let episodes = match record.episodes_done {
        0 => Vec::new(),
        _ => app.records.episodes(record.header.job_id, 0, MAX_EPISODES).await?,
    };
    let forecast = app.forecast.for_job(record).await?;
    let mut report = record.report(&episodes);
    (report.queue_position, report.eta_s) = (forecast.position, forecast.eta_s);
    report.eta_reason = forecast.eta_reason(report.status).map(str::to_owned);
    report.waiting_for = forecast.waiting_for(report.status, &app.settings);
    let job = report.job_id.to_string();
    let parts = html::progress(&report, &format!("{job}/episodes/"));
    let (word, tone) = judged(&report);
    let is_open = !report.status.is_final();
    Ok(page(
        StatusCode::OK,
        &LivePage {
            frame: PageFrame::new(&app.settings, Some(viewer), "jobs"),
            policy: sanitise(&report.policy_name, usize::MAX),
            scenario: report.scenario.to_string(),
            word,
            tone,
            message: message(&report),
            estimate: estimate(&report),
            stages: stages(report.status),
            done: report.progress.episodes_done,
            total: report.progress.episodes_total,
            is_open,
            pause_ms: LEAST_PAUSE_MS.max(record.episodes_done.saturating_mul(PAUSE_PER_EPISODE_MS)),
            may_cancel: is_open && viewer.require(assay_model::Scope::Verify).is_ok(),
            parts: parts.map_err(|error| ApiError::internal("the live page", &error))?,
            accepted: in_words(report.created_at),
            job,
        },
    ))
}

fn message(report: &JobReport) -> String {
    let error = report.error_message.as_deref().map(|text| sanitise(text, usize::MAX));
    match report.status {
        JobStatus::Queued => match report.queue_position {
            Some(position) => format!("Number {position} in the queue."),
            None => "In the queue.".to_owned(),
        },
        JobStatus::Running => {
            let progress = &report.progress;
            format!("{} of {} episodes done.", progress.episodes_done, progress.episodes_total)
        }
        JobStatus::Judging => "All episodes are done; the verdict is being computed.".to_owned(),
        JobStatus::Failed => {
            let what = "The evaluation failed because of an internal error; the policy is not to blame";
            error.map_or_else(|| format!("{what}."), |error| format!("{what}: {error}"))
        }
        JobStatus::Cancelled => "The job was cancelled, so there is no verdict.".to_owned(),
        JobStatus::Completed => String::new(),
    }
}

/// Returns the estimated end of an unfinished job, or the reason why there is none, and what it waits for.
fn estimate(report: &JobReport) -> String {
    if report.status.is_final() {
        return String::new();
    }
    let end = match (report.eta_s, &report.eta_reason) {
        (Some(seconds), _) if seconds < MINUTE_S => format!("About {:.0} s left.", seconds.max(1.0)),
        (Some(seconds), _) => format!("About {:.0} min left.", (seconds / MINUTE_S).ceil()),
        (None, Some(reason)) => format!("No estimate: {reason}."),
        (None, None) => "No estimate yet.".to_owned(),
    };
    report.waiting_for.as_ref().map_or_else(|| end.clone(), |what| format!("{end} It waits for {what}."))
}

fn stages(status: JobStatus) -> Vec<StageMark> {
    let at = match status {
        JobStatus::Queued => 0,
        JobStatus::Running => 1,
        JobStatus::Judging => 2,
        JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled => return Vec::new(),
    };
    let state = |index: usize| match index.cmp(&at) {
        std::cmp::Ordering::Less => "past",
        std::cmp::Ordering::Equal => "now",
        std::cmp::Ordering::Greater => "next",
    };
    let names = ["Queue", "Episodes", "Verdict", "Videos"];
    names.into_iter().enumerate().map(|(index, name)| StageMark { name, state: state(index) }).collect()
}
