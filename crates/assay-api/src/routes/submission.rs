//! A submission, as clients see it. While its season is open, nothing about a single episode leaves the server.

use assay_model::{
    AccountId, Blame, EpisodeResult, JobId, JobKind, JobProgress, JobStatus, ScenarioId, Statistics, Verdict,
    reduced_error, round4,
};
use assay_store::{JobRecord, JobState};
use jiff::Timestamp;
use serde::Serialize;

use super::erased;
use super::query::Query;
use super::verify_report::with_result;
use crate::artifacts;
use crate::http::{ApiError, Caller, Code};
use crate::state::App;

/// Episodes of a submission: as many as a scenario may ask for, and the showcase.
const MAX_EPISODES: u32 = 1001;

/// A submission in a list.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = SubmissionEntry)]
pub(super) struct Entry {
    id: JobId,
    scenario_id: ScenarioId,
    status: JobStatus,
    verdict: Option<Verdict>,
    /// The scenario's `max_score` times the job's score.
    #[schema(minimum = 0.0)]
    score: Option<f64>,
    created_at: Timestamp,
    completed_at: Option<Timestamp>,
    name: String,
    season: u32,
    /// When its policy and evidence were erased on their owner's wish; such a submission is only listed.
    erased_at: Option<Timestamp>,
}

/// A submission.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Submission)]
pub(super) struct Detail {
    #[serde(flatten)]
    entry: Entry,
    /// The showcase episode, on a public seed. It does not count.
    video_url: Option<String>,
    /// Confidence that violations are rarer than the scenario's bound, in [0, 1].
    #[schema(minimum = 0.0, maximum = 1.0)]
    confidence: Option<f64>,
    /// Why it FAILED, or the first error of the policy; only its type and line before the season is closed.
    error_message: Option<String>,
    description: Option<String>,
    scenario_version: String,
    progress: JobProgress,
    queue_position: Option<u32>,
    eta_s: Option<f64>,
    waiting_for: Option<String>,
    warnings: Vec<String>,
    statistics: Option<Statistics>,
    blame: Option<Blame>,
    reason: Option<String>,
}

/// A submission (of `account`) that was not erased.
pub(super) async fn submission(app: &App, account: Option<&AccountId>, id: &str) -> Result<JobRecord, ApiError> {
    let missing = || ApiError::not_found("submission");
    let id: JobId = id.parse().map_err(|_| missing())?;
    let found = app.records.job(account, id).await?;
    let found = found.filter(|job| job.header.kind() == JobKind::Submission).ok_or_else(missing)?;
    erased::none(&found)?;
    Ok(found)
}

pub(super) fn entry(record: &JobRecord) -> Entry {
    let report = record.report(&[]);
    let arena = record.header.arena.as_ref();
    let max_score = arena.map_or(0.0, |entry| f64::from(entry.max_score));
    Entry {
        id: report.job_id,
        scenario_id: report.scenario,
        status: report.status,
        verdict: report.verdict,
        score: record.conclusion().map(|(found, _)| round4(max_score * found.score)),
        created_at: report.created_at,
        completed_at: report.completed_at,
        name: report.policy_name,
        season: arena.map_or(0, |entry| entry.season),
        erased_at: report.erased_at,
    }
}

pub(super) async fn detail(app: &App, record: &JobRecord) -> Result<Detail, ApiError> {
    let report = record.report(&[]);
    let ahead = app.outlook.of(record).await?;
    let (mut error_message, mut reason, mut video_url) = (report.error_message, report.reason, None);
    if let JobState::Completed { outcome, .. } = &record.state {
        let id = record.header.job_id;
        let (showcase, episodes) = split(record, app.records.episodes(id, 0, MAX_EPISODES).await?);
        video_url =
            showcase.filter(|_| record.removed.evidence_at.is_none()).and_then(|episode| video(app, id, &episode));
        if !is_public(app, record).await? {
            error_message = episodes.iter().find_map(|episode| episode.error.as_ref()).map(reduced_error);
            reason = outcome.conclusion.aggregate_reason();
        }
    }
    Ok(Detail {
        entry: entry(record),
        video_url,
        confidence: report.statistics.map(|statistics| statistics.confidence),
        error_message,
        description: record.header.arena.as_ref().and_then(|entry| entry.description.clone()),
        scenario_version: report.scenario_version,
        progress: report.progress,
        queue_position: ahead.position,
        eta_s: ahead.eta_s,
        waiting_for: ahead.waiting_for(report.status, &app.settings).map(str::to_owned),
        warnings: report.warnings,
        statistics: report.statistics,
        blame: report.blame,
        reason,
    })
}

/// Whether the submission's season is closed, so that its episodes may be shown.
pub(super) async fn is_public(app: &App, record: &JobRecord) -> Result<bool, ApiError> {
    let Some(entry) = &record.header.arena else { return Ok(false) };
    let season = app.records.season(&record.header.scenario, Some(entry.season)).await?;
    Ok(season.is_some_and(|season| season.is_closed()))
}

/// Which of a submission's runs is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, utoipa::ToSchema)]
#[schema(as = SubmissionRun, rename_all = "snake_case")]
pub(super) enum Run {
    /// The one on the season's worlds.
    Season,
    /// The one of a first entry on fresh worlds, when its season was closed.
    Closing,
}

impl Run {
    /// As the query says; the season's if it says nothing.
    pub(super) fn of(query: Option<&str>) -> Result<Self, ApiError> {
        match Query::parse(query).text("run")? {
            None | Some("season") => Ok(Self::Season),
            Some("closing") => Ok(Self::Closing),
            other => Err(ApiError::invalid("run", other, "run must be season or closing")),
        }
    }
}

/// A submission with a result, whose season is closed: its seeds and evidence are public. `what` is what there will be.
pub(super) async fn released(
    app: &App,
    caller: &Caller,
    id: &str,
    run: Run,
    what: &str,
) -> Result<JobRecord, ApiError> {
    let record = submission(app, caller.sees(), id).await?;
    if !is_public(app, &record).await? {
        let season = record.header.arena.as_ref().map_or(0, |entry| entry.season);
        let message = format!("{what} when season {season} of {} is closed", record.header.scenario);
        return Err(ApiError::new(Code::Forbidden, message));
    }
    caller.audit(&record.account, "read a submission's evidence");
    match run {
        Run::Season => with_result(record, what),
        Run::Closing => with_result(closing_run(app, &record).await?, what),
    }
}

/// The submission's run when its season was closed.
async fn closing_run(app: &App, record: &JobRecord) -> Result<JobRecord, ApiError> {
    let season = record.header.arena.as_ref().map_or(0, |entry| entry.season);
    let reruns = app.records.reruns(&record.header.scenario, season).await?;
    let run = reruns.into_iter().find(|(of, _)| *of == record.header.job_id);
    run.map(|(_, run)| run).ok_or_else(|| ApiError::not_found("run: only a season's first entries run again"))
}

/// The showcase, and the episodes that count.
fn split(record: &JobRecord, mut episodes: Vec<EpisodeResult>) -> (Option<EpisodeResult>, Vec<EpisodeResult>) {
    let counted = record.header.plan.counted(&episodes).len();
    let showcase = episodes.drain(counted..).next();
    (showcase, episodes)
}

fn video(app: &App, id: JobId, episode: &EpisodeResult) -> Option<String> {
    let file = episode.evidence.iter().find(|file| Some(&file.name) == episode.video_url.as_ref())?;
    let path = app.signer.sign(id, &file.sha256, &artifacts::file_name(&file.name), app.clock.now());
    Some(app.settings.address(&path))
}
