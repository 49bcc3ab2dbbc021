//! `/ui/operator`: the state of the service, for administrators: health, queue, storage, failures.

use std::collections::BTreeSet;

use askama::Template;
use assay_model::{JobKind, JobStatus, Scope};
use assay_store::{JobCounts, JobFilter};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use jiff::Timestamp;

use super::job_line::{JobLine, in_words};
use super::page::{PageFrame, failure, page, to_sign_in};
use super::units::bytes_in_words;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::state::App;

/// Maximum number of jobs in each list.
const SHOWN: u32 = 20;
/// Number of waiting shards from which the queue is listed.
const SHARDS: u32 = 500;
const MIB: u64 = 1 << 20;

#[derive(Template)]
#[template(path = "ui/operator.html")]
struct OperatorPage {
    frame: PageFrame,
    health: Vec<(&'static str, bool, String)>,
    counts: JobCounts,
    oldest: Option<String>,
    queue: Vec<QueueLine>,
    failures: Vec<JobLine>,
    failure_count: u64,
}

/// A job in the queue.
struct QueueLine {
    position: String,
    job: JobLine,
    account: String,
    /// Reason why it waits.
    waits: String,
}

/// Shows the page.
pub(crate) async fn handle(State(app): State<App>, MaybeViewer(viewer): MaybeViewer) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    show(&app, &viewer).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer) -> Result<Response, ApiError> {
    viewer.require(Scope::Admin)?;
    let now = app.clock.now();
    let counts = app.records.counts().await?;
    let filter =
        JobFilter { kind: JobKind::Verify, status: Some(JobStatus::Failed), limit: SHOWN, ..JobFilter::default() };
    let (failed, failure_count) = app.records.jobs(&filter).await?;
    let seen = failed
        .iter()
        .filter_map(|record| viewer.caller.foreign(app, (&record.account, &record.header.job_id), "saw a failed job"));
    app.records.record_accesses(seen.collect()).await?;
    Ok(page(
        StatusCode::OK,
        &OperatorPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "operator"),
            health: health(app).await,
            oldest: counts.oldest_open.map(|at| age(now, at)),
            counts,
            queue: queue(app, viewer, now).await?,
            failures: failed.iter().map(JobLine::new).collect(),
            failure_count,
        },
    ))
}

/// Returns the checks of `/readyz` one by one: name, whether it holds, and details.
async fn health(app: &App) -> Vec<(&'static str, bool, String)> {
    let ready = app.readiness.get();
    let database = app.records.ping().await.is_ok();
    let least = app.settings.disk.min_free_mib;
    let disk = match app.storage.free_bytes() {
        Ok(free) => (
            free / MIB >= least,
            format!("{} free, at least {} needed", bytes_in_words(free), bytes_in_words(least * MIB)),
        ),
        Err(_) => (false, "the free space could not be read".to_owned()),
    };
    let uploads = if app.settings.runs_uploads { "runs uploaded policies" } else { "runs only policy servers" };
    vec![
        ("Service", ready.is_ok(), ready.err().unwrap_or("ready").to_owned()),
        ("Database", database, if database { "answers" } else { "does not answer" }.to_owned()),
        ("Disk", disk.0, disk.1),
        ("Isolation", true, format!("{}; {uploads}", app.settings.isolation)),
        ("Lanes", true, app.settings.local_lanes.to_string()),
    ]
}

/// Returns the open verifications, oldest first.
async fn queue(app: &App, viewer: &Viewer, now: Timestamp) -> Result<Vec<QueueLine>, ApiError> {
    let snapshot = app.records.queue_snapshot(SHARDS, now).await?;
    let ids: BTreeSet<_> = snapshot.shards.iter().map(|shard| shard.job_id).collect();
    let mut lines = Vec::new();
    for id in ids.into_iter().take(SHOWN as usize) {
        let Some(record) = app.records.job(None, id).await? else { continue };
        viewer.caller.record_access(app, (&record.account, &id), "saw a job in the queue").await?;
        let forecast = app.forecast.for_job(&record).await?;
        let status = record.state.status();
        lines.push(QueueLine {
            position: forecast.position.map(|position| position.to_string()).unwrap_or_default(),
            job: JobLine::new(&record),
            account: record.account.to_string(),
            waits: forecast.waiting_for(status, &app.settings).unwrap_or_default(),
        });
    }
    Ok(lines)
}

/// Returns how long ago something was, and when.
fn age(now: Timestamp, at: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs().max(0);
    let words = match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    };
    format!("{words}, since {}", in_words(at))
}
