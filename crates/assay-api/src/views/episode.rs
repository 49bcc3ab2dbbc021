//! An episode, as clients see it.

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

/// One rollout: outcome, scores, clauses, timing.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "EpisodeResult")]
pub(crate) struct EpisodeView {
    /// Index in the job, from 0.
    episode: u32,
    /// The seed that the policy received.
    seed: u64,
    /// The status of the episode: `completed`, or why it yields no evidence.
    status: EpisodeStatus,
    /// The event that ended the episode.
    termination: Termination,
    /// The task was done.
    success: bool,
    /// Points reached / all points, in [0, 1].
    #[schemars(range(min = 0, max = 1))]
    progress_score: f64,
    /// 1 - the worst weighted violation, in [0, 1]; 0 unless `completed`.
    #[schemars(range(min = 0, max = 1))]
    safety_score: f64,
    /// The mean of the two; with a critical violation at most half the safety score.
    #[schemars(range(min = 0, max = 1))]
    composite_score: f64,
    /// Control steps taken.
    steps: u32,
    /// Simulated seconds.
    sim_time_s: f64,
    /// Seconds by the wall, from the first observation to the end.
    wall_time_s: f64,
    /// The scenario's stages, in its order.
    stages: Vec<StageResult>,
    /// The scenario's clauses, in its order.
    clauses: Vec<ClauseResult>,
    /// At most 20 a clause, its gravest always among them, by start.
    violations: Vec<Violation>,
    /// Simulated seconds in which a critical clause was broken.
    unsafe_time_s: f64,
    /// Wall-clock latency of the policy; `null` when it never acted.
    policy_latency_ms: Option<LatencyMs>,
    /// Steps over the scenario's CPU budget.
    deadline_misses: u32,
    /// Actions with a number out of range, which was clipped.
    clipped_actions: u32,
    /// Address of the video, good for a while; `null` without one.
    video_url: Option<String>,
    /// Address of the log or the trace, good for a while; `null` without one.
    log_url: Option<String>,
    /// Type of the file at `log_url`; `null` if that is `null`.
    log_type: Option<LogType>,
    /// SHA-256 chain over integration state and action of every control step, hexadecimal.
    trace_hash: Option<Sha256Digest>,
    /// The vision judge's answer; `null` when none is configured.
    judge: Option<Judgement>,
    /// The policy's error, for its author.
    error: Option<EpisodeError>,
    /// The files that show it, in the order of their names.
    evidence: Vec<EvidenceFileView>,
    /// Gaps in the evidence, with reasons: images over the limit, no OpenGL.
    evidence_notes: Vec<String>,
    /// Attempts at this episode that this one replaced.
    replaced_attempts: Vec<ReplacedAttempt>,
}

impl EpisodeView {
    /// Returns these results of a job with what was drawn of them since its verdict.
    pub(crate) async fn load(
        app: &App,
        record: &JobRecord,
        mut results: Vec<EpisodeResult>,
    ) -> Result<Vec<Self>, ApiError> {
        add_renderings(app, record, &mut results).await?;
        let urls = EvidenceUrls::of(app, record);
        Ok(results.into_iter().map(|result| Self::new(result, &urls)).collect())
    }

    /// Returns a result with rounded scores, and the addresses of its evidence.
    pub(crate) fn new(result: EpisodeResult, urls: &EvidenceUrls<'_>) -> Self {
        let result = result.rounded();
        let evidence: Vec<_> = result.evidence.into_iter().map(|file| EvidenceFileView::new(file, urls)).collect();
        let url = |path: &Option<String>| {
            let file = evidence.iter().find(|file| Some(file.name()) == path.as_deref());
            file.and_then(EvidenceFileView::url).map(str::to_owned)
        };
        let (video_url, log_url) = (url(&result.video_path), url(&result.log_path));
        // From the path, which results from before there was a type have too.
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
            video_url,
            log_url,
            log_type,
            trace_hash: result.trace_hash,
            judge: result.judge,
            error: result.error,
            evidence,
            evidence_notes: result.evidence_notes,
            replaced_attempts: result.replaced_attempts,
        }
    }

    /// Returns the address of the video.
    pub(crate) fn video_url(&self) -> Option<&str> {
        self.video_url.as_deref()
    }
}

/// Adds the logs and videos that were drawn since the verdict of the job.
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
