//! API representation of episodes.

use assay_model::{
    ClauseResult, EpisodeError, EpisodeResult, EpisodeStatus, Judgement, LatencyMs, LogType, ReplacedAttempt,
    Sha256Digest, StageResult, Termination, Violation,
};
use assay_store::JobRecord;
use serde::Serialize;

use super::evidence_file::EvidenceFileView;
use super::evidence_urls::EvidenceUrls;
use crate::http::ApiError;
use crate::state::App;

/// One rollout, with its outcome, scores, clauses and timing.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "EpisodeResult")]
pub(crate) struct EpisodeView {
    /// Index of the episode in the job, counted from 0.
    episode: u32,
    /// Seed that the policy received.
    seed: u64,
    /// Status of the episode: `completed`, or the reason why it yields no evidence.
    status: EpisodeStatus,
    /// Event that ended the episode.
    termination: Termination,
    /// True if the task was completed.
    success: bool,
    /// Points reached divided by all points, in [0, 1].
    #[schemars(range(min = 0, max = 1))]
    progress_score: f64,
    /// 1 minus the worst weighted violation, in [0, 1]; 0 unless the status is `completed`.
    #[schemars(range(min = 0, max = 1))]
    safety_score: f64,
    /// Mean of progress score and safety score; with a critical violation, at most half the safety score.
    #[schemars(range(min = 0, max = 1))]
    composite_score: f64,
    /// Control steps taken.
    steps: u32,
    /// Simulated seconds.
    sim_time_s: f64,
    /// Wall-clock time in seconds, from the first observation to the end.
    wall_time_s: f64,
    /// Stages of the scenario, in its order.
    stages: Vec<StageResult>,
    /// Clauses of the scenario, in its order.
    clauses: Vec<ClauseResult>,
    /// Violations ordered by start; at most 20 per clause, always including its most severe one.
    violations: Vec<Violation>,
    /// Simulated seconds during which a critical clause was violated.
    unsafe_time_s: f64,
    /// Wall-clock latency of the policy in milliseconds; `null` if it never acted.
    policy_latency_ms: Option<LatencyMs>,
    /// Number of steps that exceeded the scenario's CPU budget.
    deadline_misses: u32,
    /// Number of actions with an out-of-range value, which was clipped.
    clipped_actions: u32,
    /// Number of actions in an answer of the policy, executed one per control step; in the longest, if they differ.
    /// Left out without an answer, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chunk: Option<u32>,
    /// URL of the video, valid for a limited time; `null` if there is no video.
    video_url: Option<String>,
    /// URL of the log or the trace, valid for a limited time; `null` if there is neither.
    log_url: Option<String>,
    /// Type of the file at `log_url`; `null` if `log_url` is `null`.
    log_type: Option<LogType>,
    /// SHA-256 chain over the integration state and action of every control step, hexadecimal.
    trace_hash: Option<Sha256Digest>,
    /// SHA-256 over the numbers drawn for the world, hexadecimal: episodes with the same one ran in the same world.
    /// `null` in reports that predate this field, and if the episode never began.
    world_sha256: Option<Sha256Digest>,
    /// Answer of the vision judge; `null` if none is configured.
    judge: Option<Judgement>,
    /// Error of the policy, for its author.
    error: Option<EpisodeError>,
    /// Files of evidence, ordered by name.
    evidence: Vec<EvidenceFileView>,
    /// Gaps in the evidence, with reasons, such as images over the limit or missing OpenGL.
    evidence_notes: Vec<String>,
    /// Earlier attempts at this episode that this one replaced.
    replaced_attempts: Vec<ReplacedAttempt>,
    /// Statements about this episode that only one worker on another host vouches for, and that no trace shows. Left
    /// out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unconfirmed: Vec<String>,
}

impl EpisodeView {
    /// Returns the views of a job's results, with the files rendered since its verdict.
    pub(crate) async fn load(
        app: &App,
        record: &JobRecord,
        mut results: Vec<EpisodeResult>,
    ) -> Result<Vec<Self>, ApiError> {
        add_renderings(app, record, &mut results).await?;
        let urls = EvidenceUrls::of(app, record);
        Ok(results.into_iter().map(|result| Self::new(result, &urls)).collect())
    }

    /// Creates the view of a result, with rounded scores and the URLs of its evidence.
    pub(crate) fn new(result: EpisodeResult, urls: &EvidenceUrls<'_>) -> Self {
        let result = result.rounded();
        let evidence: Vec<_> = result.evidence.into_iter().map(|file| EvidenceFileView::new(file, urls)).collect();
        let url = |path: &Option<String>| {
            let file = evidence.iter().find(|file| Some(file.name()) == path.as_deref());
            file.and_then(EvidenceFileView::url).map(str::to_owned)
        };
        let (video_url, log_url) = (url(&result.video_path), url(&result.log_path));
        // Derived from the path, because older results have no type.
        let log_type = result.log_path.filter(|_| log_url.is_some()).and_then(|path| LogType::of(&path));
        Self {
            episode: result.episode,
            seed: result.seed,
            status: result.status,
            termination: result.termination,
            success: result.success,
            progress_score: result.progress_score,
            safety_score: result.safety_score,
            composite_score: result.composite_score,
            steps: result.steps,
            sim_time_s: result.sim_time_s,
            wall_time_s: result.wall_time_s,
            stages: result.stages,
            clauses: result.clauses,
            violations: result.violations,
            unsafe_time_s: result.unsafe_time_s,
            policy_latency_ms: result.policy_latency_ms,
            deadline_misses: result.deadline_misses,
            clipped_actions: result.clipped_actions,
            chunk: result.chunk,
            video_url,
            log_url,
            log_type,
            trace_hash: result.trace_hash,
            world_sha256: result.world_sha256,
            judge: result.judge,
            error: result.error,
            evidence,
            evidence_notes: result.evidence_notes,
            replaced_attempts: result.replaced_attempts,
            unconfirmed: result.unconfirmed,
        }
    }

    /// Returns the URL of the video.
    pub(crate) fn video_url(&self) -> Option<&str> {
        self.video_url.as_deref()
    }
}

/// Adds the logs and videos that were rendered since the verdict of the job.
pub(crate) async fn add_renderings(
    app: &App,
    record: &JobRecord,
    results: &mut [EpisodeResult],
) -> Result<(), ApiError> {
    if record.renders.total == 0 || results.is_empty() {
        return Ok(());
    }
    let drawn = app.records.renders(record.header.job_id).await?;
    for result in results {
        if let Some(drawn) = drawn.iter().find(|drawn| drawn.episode == result.episode) {
            result.add_rendering(&drawn.files, &drawn.notes);
        }
    }
    Ok(())
}
