//! The API's job object: the report of a verification, with URLs instead of paths.

use assay_model::lane::files;
use assay_model::{
    Blame, ClauseEvent, ClauseSensitivity, DeclaredModel, DrawnRange, EpisodeResult, Fingerprint, JobHeader, JobId,
    JobMode, JobProgress, JobReport, JobStatus, PolicyIdentity, PolicyKey, Quadrants, ReplacedAttempt, Review,
    ReviewReason, ScenarioId, Sha256Digest, Statistics, Verdict,
};
use assay_store::JobRecord;
use jiff::Timestamp;
use serde::Serialize;

use super::episode::EpisodeView;
use super::evidence_urls::EvidenceUrls;
use crate::http::ApiError;
use crate::links;
use crate::state::App;

/// Maximum number of episodes in the job object.
pub(crate) const MAX_EPISODES_SHOWN: u32 = 100;

/// The job object. Every field is present in every state, and `null` while it has no value.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "JobReport")]
pub(crate) struct JobView {
    job_id: JobId,
    status: JobStatus,
    verdict: Option<Verdict>,
    #[schemars(range(min = 0, max = 1))]
    score: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    composite_score: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    progress_score: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    safety_score: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    consistency: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    success_rate: Option<f64>,
    vlm_agreement: Option<bool>,
    needs_review: bool,
    review_reasons: Vec<ReviewReason>,
    review: Option<Review>,
    blame: Option<Blame>,
    reason: Option<String>,
    /// The worst violation, from which `reason` and every other output are made; `null` if no clause was violated, and
    /// in jobs that predate this field.
    worst: Option<ClauseEvent>,
    /// The clause that came closest to its limit; `null` if one was violated, and in jobs that predate this field.
    closest: Option<ClauseEvent>,
    error_message: Option<String>,
    warnings: Vec<String>,
    scenario: ScenarioId,
    scenario_version: String,
    scenario_digest: Sha256Digest,
    /// Distributions from which the scenario draws the worlds of its episodes, at most 256: those with more than one
    /// value that reach an episode. Empty if it draws nothing; `null` in jobs that predate this field.
    drawn_ranges: Option<Vec<DrawnRange>>,
    /// Version of the render profile of the policy's images; `null` without images, and in jobs that predate this
    /// field.
    render_profile: Option<u32>,
    policy_name: String,
    policy_sha256: Option<Sha256Digest>,
    policy_identity: PolicyIdentity,
    /// Models of the account that the policy uses; those in its archive are not listed.
    models: Vec<DeclaredModel>,
    replan_steps: Option<u32>,
    num_episodes: u32,
    /// Seed of all episodes' worlds; the same seed and `policy_key` yield the same episodes.
    seed: u64,
    /// Key from which the policy's seeds are derived, 64 hexadecimal digits; `null` in reports that predate this field.
    policy_key: Option<PolicyKey>,
    #[schemars(with = "String")]
    mode: JobMode,
    statistics: Option<Statistics>,
    #[schemars(range(min = 0, max = 1))]
    unsafe_success_share: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    violation_severity: Option<f64>,
    quadrants: Option<Quadrants>,
    unsafe_time_s: Option<f64>,
    sensitivity: Vec<ClauseSensitivity>,
    replaced_attempts: Vec<ReplacedAttempt>,
    fingerprint: Option<Fingerprint>,
    progress: JobProgress,
    queue_position: Option<u32>,
    eta_s: Option<f64>,
    /// Reason why `eta_s` is `null` for an unfinished job.
    eta_reason: Option<String>,
    waiting_for: Option<String>,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    /// Time at which policy and evidence were erased at the owner's request; present only in lists, because a request
    /// for an erased job is GONE.
    erased_at: Option<Timestamp>,
    /// Time at which the evidence was removed, by its owner or by the retention limits on age or size; the report is
    /// kept.
    evidence_removed_at: Option<Timestamp>,
    /// URL of the first video among the first 100 episodes.
    video_url: Option<String>,
    /// URL of the report page, once the job is COMPLETED.
    report_url: Option<String>,
    /// URL of the signed statement, once the job is COMPLETED.
    attestation_url: Option<String>,
    signed_by: Option<String>,
    episode_details: Vec<EpisodeView>,
}

/// URLs of the documents about a job.
#[derive(Debug, Default)]
struct JobPages {
    report_url: Option<String>,
    attestation_url: Option<String>,
}

impl JobView {
    /// Returns the job object in its current state, with these episodes and the files rendered since the verdict.
    pub(crate) async fn load(app: &App, record: &JobRecord, episodes: Vec<EpisodeResult>) -> Result<Self, ApiError> {
        let episodes = EpisodeView::load(app, record, episodes).await?;
        let forecast = app.forecast.for_job(record).await?;
        let mut report = record.report(&[]);
        (report.queue_position, report.eta_s) = (forecast.position, forecast.eta_s);
        report.eta_reason = forecast.eta_reason(report.status).map(str::to_owned);
        let waiting_for = match app.awaits_policy(report.job_id) {
            true => Some("its policy, which is not connected".to_owned()),
            false => forecast.waiting_for(report.status, &app.settings),
        };
        report.waiting_for = waiting_for;
        let pages = JobPages::of(app, &report);
        Ok(Self::new(report, pages, episodes))
    }

    /// Returns the job object as lists contain it: without episodes, and with the URL of the first video.
    pub(crate) async fn listed(app: &App, record: &JobRecord) -> Result<Self, ApiError> {
        let view = Self::load(app, record, Vec::new()).await?;
        Ok(Self { video_url: first_video(app, record).await?, ..view })
    }

    /// Returns the job object of a job that was just accepted.
    pub(crate) fn accepted(header: &JobHeader) -> Self {
        Self::new(JobReport::queued(header), JobPages::default(), Vec::new())
    }

    fn new(report: JobReport, pages: JobPages, episodes: Vec<EpisodeView>) -> Self {
        Self {
            job_id: report.job_id,
            status: report.status,
            verdict: report.verdict,
            score: report.score,
            composite_score: report.composite_score,
            progress_score: report.progress_score,
            safety_score: report.safety_score,
            consistency: report.consistency,
            success_rate: report.success_rate,
            vlm_agreement: report.vlm_agreement,
            needs_review: report.needs_review,
            review_reasons: report.review_reasons,
            review: report.review,
            blame: report.blame,
            reason: report.reason,
            worst: report.worst,
            closest: report.closest,
            error_message: report.error_message,
            warnings: report.warnings,
            scenario: report.scenario,
            scenario_version: report.scenario_version,
            scenario_digest: report.scenario_digest,
            drawn_ranges: report.drawn_ranges,
            render_profile: report.render_profile,
            policy_name: report.policy_name,
            policy_sha256: report.policy_sha256,
            policy_identity: report.policy_identity,
            models: report.models,
            replan_steps: report.replan_steps,
            num_episodes: report.num_episodes,
            seed: report.seed,
            policy_key: report.policy_key,
            mode: report.mode,
            statistics: report.statistics,
            unsafe_success_share: report.unsafe_success_share,
            violation_severity: report.violation_severity,
            quadrants: report.quadrants,
            unsafe_time_s: report.unsafe_time_s,
            sensitivity: report.sensitivity,
            replaced_attempts: report.replaced_attempts,
            fingerprint: report.fingerprint,
            progress: report.progress,
            queue_position: report.queue_position,
            eta_s: report.eta_s,
            eta_reason: report.eta_reason,
            waiting_for: report.waiting_for,
            created_at: report.created_at,
            started_at: report.started_at,
            completed_at: report.completed_at,
            erased_at: report.erased_at,
            evidence_removed_at: report.evidence_removed_at,
            video_url: episodes.iter().find_map(|episode| episode.video_url().map(str::to_owned)),
            report_url: pages.report_url,
            attestation_url: pages.attestation_url,
            signed_by: report.signed_by,
            episode_details: episodes,
        }
    }
}

/// Returns the URL of the first video of a job, as [`JobView::load`] finds it among the episodes.
async fn first_video(app: &App, record: &JobRecord) -> Result<Option<String>, ApiError> {
    let job = record.header.job_id;
    if record.state.status() != JobStatus::Completed || record.removed.evidence_at.is_some() {
        return Ok(None);
    }
    let urls = EvidenceUrls::of(app, record);
    // Videos that were rendered with the episodes, as earlier versions did: the first episode has one, if any has.
    if record.renders.total == 0 {
        let first = EpisodeView::load(app, record, app.records.episodes(job, 0, 1).await?).await?;
        return Ok(first.iter().find_map(|episode| episode.video_url().map(str::to_owned)));
    }
    let rendered = app.records.renders(job).await?;
    let shown = rendered.iter().filter(|episode| episode.episode < MAX_EPISODES_SHOWN);
    let videos = shown.flat_map(|episode| episode.files.iter().map(|file| (episode.episode, file)));
    let first = videos.filter(|(_, file)| file.name.ends_with(files::VIDEO)).min_by_key(|(episode, _)| *episode);
    Ok(first.and_then(|(_, file)| urls.url(file)))
}

impl JobPages {
    /// Returns the URLs for a job that is COMPLETED and not erased; none otherwise.
    fn of(app: &App, report: &JobReport) -> Self {
        if report.status != JobStatus::Completed || report.erased_at.is_some() {
            return Self::default();
        }
        let resource = if report.mode == JobMode::Arena { "submissions" } else { "verify" };
        let page = |name: &str| Some(links::address(&app.settings, &format!("/{resource}/{}/{name}", report.job_id)));
        Self { report_url: page("report"), attestation_url: page("attestation") }
    }
}
