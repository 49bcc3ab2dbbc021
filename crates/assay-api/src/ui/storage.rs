//! `/ui/storage`: stored evidence, free space, retention and the next removals, for administrators.

use askama::Template;
use assay_model::Scope;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::page::{PageFrame, failure, page, to_sign_in};
use super::units::{bytes_in_words, count};
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{StorageReport, storage_report};
use crate::state::App;

#[derive(Template)]
#[template(path = "ui/storage.html")]
struct StoragePage {
    frame: PageFrame,
    free: String,
    min_free: String,
    is_low: bool,
    evidence: String,
    evidence_jobs: u64,
    rules: [RetentionLine; 3],
    /// Largest size of all evidence.
    evidence_cap: Option<String>,
    every: String,
    pending: u64,
}

/// A kind of stored files: how long they are kept, and which of them are removed next.
struct RetentionLine {
    name: &'static str,
    kept: String,
    setting: &'static str,
    removed: String,
}

/// Shows the page.
pub(crate) async fn handle(State(app): State<App>, MaybeViewer(viewer): MaybeViewer) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    show(&app, &viewer).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer) -> Result<Response, ApiError> {
    viewer.require(Scope::Admin)?;
    let report = storage_report(app).await?;
    Ok(page(
        StatusCode::OK,
        &StoragePage {
            frame: PageFrame::new(&app.settings, Some(viewer), "storage"),
            free: report.free_bytes.map_or_else(|| "unknown".to_owned(), bytes_in_words),
            min_free: bytes_in_words(report.min_free_bytes),
            is_low: report.free_bytes.is_none_or(|free| free < report.min_free_bytes),
            evidence: bytes_in_words(report.evidence_bytes),
            evidence_jobs: report.evidence_jobs,
            rules: rules(&report),
            evidence_cap: report.retention.evidence_max_bytes.map(bytes_in_words),
            every: format!("{} s", report.retention.every_s),
            pending: report.next_removal.pending_jobs,
        },
    ))
}

fn rules(report: &StorageReport) -> [RetentionLine; 3] {
    let kept = |days: Option<f64>, after: &str| match days {
        Some(days) => format!("{days} days after {after}"),
        None => "forever".to_owned(),
    };
    let removed = |number: u64, words: String| if number == 0 { "nothing".to_owned() } else { words };
    let (rules, next) = (&report.retention, &report.next_removal);
    let of_evidence = format!("{}, {}", count(next.evidence_jobs, "job"), bytes_in_words(next.evidence_bytes));
    let of_models = format!("{}, {}", count(next.models, "model"), bytes_in_words(next.model_bytes));
    [
        RetentionLine {
            name: "Evidence",
            kept: kept(rules.evidence_days, "the end of the job"),
            setting: "evidence_days",
            removed: removed(next.evidence_jobs, of_evidence),
        },
        RetentionLine {
            name: "Policy archives",
            kept: kept(rules.policy_days, "the end of the job"),
            setting: "policy_days",
            removed: removed(next.policies, count(next.policies, "job")),
        },
        RetentionLine {
            name: "Models",
            kept: kept(rules.model_days, "the last use"),
            setting: "model_days",
            removed: removed(next.models, of_models),
        },
    ]
}
