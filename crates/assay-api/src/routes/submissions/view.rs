//! API representation of submissions. While the season is open, nothing about a single episode leaves the server.

use assay_model::{
    Blame, EpisodeResult, JobId, JobStatus, PublishedProgress, ScenarioId, Statistics, Verdict, error_class, round3,
    round4,
};
use assay_store::{JobRecord, JobState};
use jiff::Timestamp;
use serde::Serialize;

use crate::http::{ApiError, ErrorCode};
use crate::published::PublishedSubmission;
use crate::routes::query::Query;
use crate::routes::verify::report::with_result;
use crate::state::App;
use crate::views::{EpisodeView, EvidenceUrls};

/// Maximum number of episodes of a submission: the maximum of a scenario, and the showcase.
const MAX_EPISODES: u32 = 1001;

/// A submission in a list.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct SubmissionEntry {
    pub(crate) id: JobId,
    pub(crate) scenario_id: ScenarioId,
    pub(crate) status: JobStatus,
    pub(crate) verdict: Option<Verdict>,
    /// Score out of the scenario's `max_score`. Computed from the submission's score rounded to 3 decimal places while
    /// the season is open, and to 4 once it is closed.
    #[schemars(range(min = 0))]
    pub(crate) score: Option<f64>,
    pub(crate) created_at: Timestamp,
    /// Time at which its end was published: a multiple of 15 s after `created_at`, unless it was cancelled.
    pub(crate) completed_at: Option<Timestamp>,
    pub(crate) name: String,
    pub(crate) season: u32,
    /// Time at which its policy and evidence were erased at the owner's request; an erased submission appears only in
    /// lists.
    pub(crate) erased_at: Option<Timestamp>,
}

/// A submission, with its state and result.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Submission")]
pub(crate) struct SubmissionDetail {
    #[serde(flatten)]
    pub(crate) entry: SubmissionEntry,
    /// Video of the showcase episode, which runs on a public seed and does not count.
    pub(crate) video_url: Option<String>,
    /// Confidence that violations are rarer than the scenario's bound, in [0, 1].
    #[schemars(range(min = 0, max = 1))]
    pub(crate) confidence: Option<f64>,
    /// First error of the policy, or the reason why the submission FAILED. While the season is open, only the class of
    /// the policy's error: `policy_error`, `policy_timeout` or `invalid`.
    pub(crate) error_message: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) scenario_version: String,
    pub(crate) progress: PublishedProgress,
    pub(crate) queue_position: Option<u32>,
    pub(crate) eta_s: Option<f64>,
    /// Reason why `eta_s` is `null` for an unfinished submission.
    pub(crate) eta_reason: Option<String>,
    pub(crate) waiting_for: Option<String>,
    pub(crate) warnings: Vec<String>,
    statistics: Option<SubmissionStatistics>,
    pub(crate) blame: Option<Blame>,
    pub(crate) reason: Option<String>,
    /// The extra episode on a public seed, in full; present once the submission is COMPLETED.
    pub(crate) showcase: Option<EpisodeView>,
}

/// Statistics of a submission; the fields are those of a job's statistics.
#[derive(Serialize, schemars::JsonSchema)]
struct SubmissionStatistics {
    episodes: u32,
    /// Episodes with a critical violation; `null` until the season is closed.
    violations: Option<u32>,
    /// Episodes that do not show whether every critical clause held; `null` until the season is closed.
    without_evidence: Option<u32>,
    #[schemars(range(min = 0, max = 1))]
    violation_probability_upper: f64,
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    confidence_level: f64,
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    target: Option<f64>,
    certified: Option<bool>,
    episodes_needed: u32,
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    max_violation_probability: f64,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
}

impl SubmissionStatistics {
    fn new(of: &Statistics, is_open: bool) -> Self {
        Self {
            episodes: of.episodes,
            violations: (!is_open).then_some(of.violations),
            without_evidence: (!is_open).then_some(of.without_evidence),
            violation_probability_upper: of.violation_probability_upper,
            confidence_level: of.confidence_level,
            target: of.target,
            certified: of.certified,
            episodes_needed: of.episodes_needed,
            max_violation_probability: of.max_violation_probability,
            confidence: of.confidence,
        }
    }
}

pub(crate) fn entry(published: &PublishedSubmission) -> SubmissionEntry {
    let record = published.record();
    let report = record.report(&[]);
    let arena = record.header.arena.as_ref();
    let max_score = arena.map_or(0.0, |entry| f64::from(entry.max_score));
    let score = |score: f64| if published.is_open() { round3(score) } else { score };
    SubmissionEntry {
        id: report.job_id,
        scenario_id: report.scenario,
        status: report.status,
        verdict: report.verdict,
        score: record.conclusion().map(|(found, _)| round4(max_score * score(found.score))),
        created_at: report.created_at,
        completed_at: report.completed_at,
        name: report.policy_name,
        season: arena.map_or(0, |entry| entry.season),
        erased_at: report.erased_at,
    }
}

pub(crate) async fn detail(app: &App, published: &PublishedSubmission) -> Result<SubmissionDetail, ApiError> {
    let (record, is_open) = (published.record(), published.is_open());
    let report = record.report(&[]);
    let ahead = app.forecast.published(record.header.job_id, report.status, published.point()).await?;
    let (mut error_message, mut reason, mut showcase) = (report.error_message, report.reason, None);
    if let JobState::Completed { outcome, .. } = &record.state {
        let found = app.records.episodes(record.header.job_id, 0, MAX_EPISODES).await?;
        let (shown, episodes) = split(record, found);
        showcase = shown.map(|episode| EpisodeView::new(episode, &EvidenceUrls::of(app, record)));
        if is_open {
            error_message = error_class(&episodes).map(str::to_owned);
            reason = outcome.conclusion.published_reason().map(str::to_owned);
        }
    }
    Ok(SubmissionDetail {
        entry: entry(published),
        video_url: showcase.as_ref().and_then(|episode| episode.video_url().map(str::to_owned)),
        confidence: report.statistics.map(|statistics| statistics.confidence),
        error_message,
        description: record.header.arena.as_ref().and_then(|entry| entry.description.clone()),
        scenario_version: report.scenario_version,
        progress: PublishedProgress::new(report.status, published.episodes_done(), report.progress.episodes_total),
        queue_position: ahead.position,
        eta_s: ahead.eta_s,
        eta_reason: ahead.eta_reason(report.status).map(str::to_owned),
        waiting_for: ahead.waiting_for(report.status, &app.settings),
        warnings: report.warnings,
        statistics: report.statistics.map(|statistics| SubmissionStatistics::new(&statistics, is_open)),
        blame: report.blame,
        reason,
        showcase,
    })
}

/// The requested run of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, utoipa::ToSchema)]
#[schema(as = SubmissionRun, rename_all = "snake_case")]
pub(in crate::routes) enum SubmissionRun {
    /// The run on the season's worlds.
    Season,
    /// The rerun of a top entry on fresh worlds when its season was closed.
    Closing,
}

impl SubmissionRun {
    /// Parses the run from the query; the season's run if absent.
    pub(in crate::routes) fn of(query: Option<&str>) -> Result<Self, ApiError> {
        match Query::parse(query).text("run")? {
            None | Some("season") => Ok(Self::Season),
            Some("closing") => Ok(Self::Closing),
            other => Err(ApiError::invalid("run", other, "run must be season or closing")),
        }
    }
}

/// Returns the submission's run if it has a result and its season is closed, so that its seeds and evidence are public.
/// `what` names the requested resource in error messages.
pub(in crate::routes) async fn released(
    app: &App,
    published: PublishedSubmission,
    run: SubmissionRun,
    what: &str,
) -> Result<JobRecord, ApiError> {
    let is_open = published.is_open();
    let record = published.into_record();
    if is_open {
        let season = record.header.arena.as_ref().map_or(0, |entry| entry.season);
        let message = format!("{what} when season {season} of {} is closed", record.header.scenario);
        return Err(ApiError::new(ErrorCode::Forbidden, message));
    }
    match run {
        SubmissionRun::Season => with_result(record, what),
        SubmissionRun::Closing => with_result(closing_run(app, &record).await?, what),
    }
}

/// Returns the submission's rerun from when its season was closed.
async fn closing_run(app: &App, record: &JobRecord) -> Result<JobRecord, ApiError> {
    let season = record.header.arena.as_ref().map_or(0, |entry| entry.season);
    let reruns = app.records.reruns(&record.header.scenario, season).await?;
    let run = reruns.into_iter().find(|(of, _)| *of == record.header.job_id);
    run.map(|(_, run)| run).ok_or_else(|| ApiError::not_found("run: only a season's first entries run again"))
}

/// Splits the episodes into the showcase and those that count.
fn split(record: &JobRecord, mut episodes: Vec<EpisodeResult>) -> (Option<EpisodeResult>, Vec<EpisodeResult>) {
    let counted = record.header.plan.counted(&episodes).len();
    let showcase = episodes.drain(counted..).next();
    (showcase, episodes)
}
