//! The verdict of a verification.

use askama::Template;
use assay_model::{JobStage, ReviewDecision, Scope};
use assay_report::html;
use assay_store::JobRecord;
use axum::http::StatusCode;
use axum::response::Response;

use super::page::{PageFrame, page};
use super::replay::may_replay;
use super::reviews::DECISIONS;
use super::viewer::Viewer;
use crate::http::ApiError;
use crate::report_assets::{MAX_EPISODES, card_of};
use crate::state::App;
use crate::views::{EvidenceUrls, add_renderings};

#[derive(Template)]
#[template(path = "ui/verdict.html")]
struct VerdictPage {
    frame: PageFrame,
    job: String,
    policy: String,
    headline: String,
    /// The parts shared with the report: HTML, escaped.
    parts: String,
    signature: SignatureStatus,
    /// Numbers of rendered and of all videos while some are missing.
    rendering: Option<(u32, u32)>,
    removed: Option<String>,
    can_review: bool,
    /// Index of the last episode, if the viewer may replay one.
    last_replayable: Option<u32>,
    decisions: [(ReviewDecision, &'static str); 3],
}

/// State of the statement's signature.
struct SignatureStatus {
    key: Option<String>,
    words: &'static str,
}

/// Shows the verdict of a job that is COMPLETED.
pub(super) async fn show(app: &App, viewer: &Viewer, record: &JobRecord) -> Result<Response, ApiError> {
    let mut episodes = app.records.episodes(record.header.job_id, 0, MAX_EPISODES).await?;
    add_renderings(app, record, &mut episodes).await?;
    let report = record.report(&episodes);
    let card = card_of(app, &report).await?;
    let addresses = EvidenceUrls::of(app, record).linked(&episodes);
    let assets =
        html::Assets { scenario: card.as_deref(), plots: &[], addresses: Some(&addresses), ..html::Assets::default() };
    let job = report.job_id.to_string();
    let parts = html::verdict(&report, assets, &format!("{job}/episodes/"));
    let parts = parts.map_err(|error| ApiError::internal("the verdict's page", &error))?;
    let progress = &report.progress;
    let is_rendering = matches!(progress.stage, JobStage::Rendering);
    Ok(page(
        StatusCode::OK,
        &VerdictPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "jobs"),
            policy: assay_model::sanitise(&report.policy_name, usize::MAX),
            headline: report.verdict.map(|verdict| verdict.to_string()).unwrap_or_default(),
            parts,
            signature: signature(app, report.signed_by.as_deref())?,
            rendering: is_rendering.then_some((progress.videos_done, progress.videos_total)),
            removed: record.removed.evidence_at.map(super::job_line::in_words),
            can_review: viewer.caller.has(Scope::Review),
            last_replayable: may_replay(viewer, record).then(|| record.episodes_done.saturating_sub(1)),
            decisions: DECISIONS,
            job,
        },
    ))
}

/// Returns whether the key that signed the statement is published by this service.
fn signature(app: &App, signed_by: Option<&str>) -> Result<SignatureStatus, ApiError> {
    let Some(key) = signed_by else {
        return Ok(SignatureStatus { key: None, words: "The statement names no key." });
    };
    let published = app.signing_keys.published().map_err(|error| ApiError::internal("the published keys", &error))?;
    let words = match published.find(key).map(|known| known.retired_at) {
        Some(None) => "Signed with the current key of this service.",
        Some(Some(_)) => "Signed with a retired key of this service; statements that it signed remain valid.",
        None => "Signed with a key that this service does not publish.",
    };
    Ok(SignatureStatus { key: Some(assay_model::sanitise(key, usize::MAX)), words })
}
