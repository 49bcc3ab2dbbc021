//! Views of records for clients.

use assay_model::{
    EpisodeResult, JobId, JobMode, JobReport, JobStatus, LogType, ScenarioCard, ScenarioId, Sha256Digest,
};
use assay_store::JobRecord;
use serde::Serialize;

use crate::http::ApiError;
use crate::signed_urls;
use crate::state::App;

/// The job object, with what was drawn since its verdict, and with addresses of its evidence that are good for a while.
pub(crate) async fn job(app: &App, record: &JobRecord, episodes: &[EpisodeResult]) -> Result<JobReport, ApiError> {
    let mut report = record.report(episodes);
    if record.renders.total > 0 && !episodes.is_empty() {
        let drawn = app.records.renders(record.header.job_id).await?;
        for episode in &mut report.episode_details {
            if let Some(drawn) = drawn.iter().find(|drawn| drawn.episode == episode.episode) {
                episode.add_rendering(&drawn.files, &drawn.notes);
            }
        }
    }
    let ahead = app.forecast.for_job(record).await?;
    (report.queue_position, report.eta_s) = (ahead.position, ahead.eta_s);
    report.eta_reason = ahead.eta_reason(report.status).map(str::to_owned);
    report.waiting_for = ahead.waiting_for(report.status, &app.settings).map(str::to_owned);
    sign(app, &mut report);
    Ok(report)
}

/// Puts addresses in the place of paths. What an address does not lead to is `null`.
fn sign(app: &App, report: &mut JobReport) {
    let (id, kept) = (report.job_id, report.evidence_removed_at.is_none());
    for episode in &mut report.episode_details {
        sign_episode(app, id, kept, episode);
    }
    report.video_url = report.episode_details.iter().find_map(|episode| episode.video_url.clone());
    let done = report.status == JobStatus::Completed && report.erased_at.is_none();
    let place = if report.mode == JobMode::Arena { "submissions" } else { "verify" };
    let page = |name: &str| done.then(|| app.settings.address(&format!("/{place}/{id}/{name}")));
    (report.report_url, report.attestation_url) = (page("report"), page("attestation"));
}

/// The same of an episode of the job `id`, whose evidence is `kept` or was removed.
pub(super) fn sign_episode(app: &App, id: JobId, kept: bool, episode: &mut EpisodeResult) {
    let now = app.clock.now();
    for file in &mut episode.evidence {
        let name = signed_urls::file_name(&file.name);
        // What was removed has no address.
        file.url = kept.then(|| app.settings.address(&app.signer.sign(id, file.sha256, &name, now)));
    }
    let EpisodeResult { evidence, video_url, log_url, log_type, .. } = episode;
    let url = |path: &Option<String>| {
        let file = evidence.iter().find(|file| Some(&file.name) == path.as_ref());
        file.and_then(|file| file.url.clone())
    };
    let path = log_url.take();
    (*video_url, *log_url) = (url(video_url), url(&path));
    // From the path, which results from before there was a type have too.
    *log_type = path.filter(|_| log_url.is_some()).and_then(|path| LogType::of(&path));
}

/// A scenario in a list.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Scenario)]
pub(super) struct ScenarioSummary {
    id: ScenarioId,
    name: String,
    description: String,
    /// From easy to hard.
    #[schema(minimum = 1, maximum = 5)]
    difficulty: u8,
    /// Whole simulated seconds an episode may take.
    time_limit: u32,
    /// Score of a perfect submission.
    max_score: u32,
    version: String,
    /// SHA-256 over the scenario's files, hexadecimal.
    #[schema(value_type = String, pattern = "^[0-9a-f]{64}$")]
    digest: Sha256Digest,
}

/// A scenario with its author's text.
#[derive(Serialize, utoipa::ToSchema)]
pub(super) struct ScenarioDetail {
    #[serde(flatten)]
    summary: ScenarioSummary,
    /// Markdown.
    long_description: String,
}

pub(super) fn summary(card: &ScenarioCard) -> ScenarioSummary {
    ScenarioSummary {
        id: card.id.clone(),
        name: card.name.clone(),
        description: card.description.clone(),
        difficulty: card.difficulty,
        time_limit: card.time_limit,
        max_score: card.max_score,
        version: card.version.clone(),
        digest: card.digest,
    }
}

pub(super) fn detail(card: &ScenarioCard) -> ScenarioDetail {
    ScenarioDetail { summary: summary(card), long_description: card.long_description.clone() }
}
