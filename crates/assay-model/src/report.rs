//! Report of a job, the content of `report.json`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    ArenaEntry, Blame, ClauseEvent, ClauseSensitivity, Conclusion, DeclaredModel, DrawnRange, EpisodeResult, Isolation,
    JobId, JobKind, JobStatus, Plan, PolicyIdentity, PolicyKey, Quadrants, Review, ReviewReason, RuntimeVersion,
    SHOWCASE_EPISODES, ScenarioId, SeedSource, Sha256Digest, Statistics, Verdict,
};

/// Selection of the episodes that get a log and a video.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// All episodes.
    All,
    /// Episodes with a violation, and the first episode.
    #[default]
    Violations,
    /// No episodes.
    None,
}

impl Record {
    /// Returns whether this episode gets a log and a video. An episode without a recording never does.
    #[must_use]
    pub fn wants(self, result: &EpisodeResult) -> bool {
        let wanted = match self {
            Self::All => true,
            Self::Violations => result.episode == 0 || !result.violations.is_empty(),
            Self::None => false,
        };
        wanted && result.steps > 0
    }
}

impl std::str::FromStr for Record {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self::All),
            "violations" => Ok(Self::Violations),
            "none" => Ok(Self::None),
            _ => Err("use all, violations or none"),
        }
    }
}

/// Everything that a result depends on besides archive, scenario and seed, and the isolation of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Fingerprint {
    /// Version of MuJoCo.
    pub mujoco: String,
    /// SHA-256 of the MuJoCo library file, 64 hexadecimal digits.
    pub libmujoco_sha256: Sha256Digest,
    /// CPU features by which numeric libraries select their code.
    pub cpu_features: Vec<String>,
    /// Version of the C library (glibc).
    pub glibc: String,
    /// Version of NumPy in the jail.
    pub numpy: String,
    /// OpenBLAS kernel used in the jail.
    pub blas_core: String,
    /// Version of the code that evaluates clauses and scores.
    pub scorer_version: String,
    /// Isolation of policies on this instance. Results do not depend on it.
    #[serde(default)]
    pub isolation: Isolation,
    /// Runtime of the policy; `null` for a policy server, and in reports of earlier versions.
    #[serde(default)]
    pub runtime: Option<RuntimeVersion>,
}

/// Stage of a job, from acceptance to the last video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobStage {
    /// No episode has started.
    Queued,
    /// Episodes are running.
    Running,
    /// All episodes are recorded; the conclusion is being drawn.
    Judging,
    /// The job is COMPLETED; logs and videos are being rendered.
    Rendering,
    /// All work is done.
    Done,
}

/// Origin of a job's worlds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobMode {
    /// A verification: worlds are drawn from the job's own seed.
    Verify,
    /// A submission: worlds are those of a season.
    Arena,
}

/// Progress of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JobProgress {
    /// Number of episodes recorded.
    pub episodes_done: u32,
    /// Number of episodes requested.
    pub episodes_total: u32,
    /// Stage of the job: `queued`, `running`, `judging`, `rendering` (COMPLETED, while videos are still being rendered)
    /// or `done`.
    #[schemars(with = "String", pattern("^(queued|running|judging|rendering|done)$"))]
    pub stage: JobStage,
    /// Number of episodes whose log and video were rendered or given up.
    #[serde(default)]
    pub videos_done: u32,
    /// Number of episodes that get a log and a video, as far as it is known.
    #[serde(default)]
    pub videos_total: u32,
}

impl JobProgress {
    /// Returns the progress of a job with this status.
    #[must_use]
    pub fn new(status: JobStatus, episodes_done: u32, episodes_total: u32) -> Self {
        let stage = match status {
            JobStatus::Queued => JobStage::Queued,
            JobStatus::Running => JobStage::Running,
            JobStatus::Judging => JobStage::Judging,
            JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled => JobStage::Done,
        };
        Self { episodes_done, episodes_total, stage, videos_done: 0, videos_total: 0 }
    }

    /// Sets the numbers of finished and of all videos. A stage of `done` becomes `rendering` until all videos are
    /// finished.
    #[must_use]
    pub fn with_videos(mut self, done: u32, total: u32) -> Self {
        (self.videos_done, self.videos_total) = (done, total);
        if self.stage == JobStage::Done && done < total {
            self.stage = JobStage::Rendering;
        }
        self
    }
}

/// Progress of a submission, as published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct PublishedProgress {
    /// Number of episodes recorded; `null` until the submission's season is closed.
    pub episodes_done: Option<u32>,
    /// Number of episodes requested.
    pub episodes_total: u32,
    /// Stage of the submission: `queued`, `running`, `judging` or `done`.
    #[schemars(with = "String", pattern("^(queued|running|judging|done)$"))]
    pub stage: JobStage,
}

impl PublishedProgress {
    /// Returns the published progress of a submission with this status.
    #[must_use]
    pub fn new(status: JobStatus, episodes_done: Option<u32>, episodes_total: u32) -> Self {
        let JobProgress { stage, .. } = JobProgress::new(status, 0, episodes_total);
        Self { episodes_done, episodes_total, stage }
    }
}

/// Immutable facts of a job, stored when it is accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobHeader {
    /// Id of the job.
    pub job_id: JobId,
    /// Scenario that the policy is evaluated on.
    pub scenario: ScenarioId,
    /// Version of the scenario.
    pub scenario_version: String,
    /// SHA-256 over the files of the scenario and its robots.
    pub scenario_digest: Sha256Digest,
    /// Version of the render profile of the policy's images; `None` without images, and in jobs of earlier versions,
    /// which had only version 1.
    #[serde(default)]
    pub render_profile: Option<u32>,
    /// Name of the policy, given by its author.
    pub policy_name: String,
    /// SHA-256 of the archive (for a folder or a single file, of a canonical listing); `null` for a policy server.
    pub policy_sha256: Option<Sha256Digest>,
    /// Way in which the policy is identified.
    pub policy_identity: PolicyIdentity,
    /// Runtime that was chosen for the policy; `None` for a policy server, and in jobs of earlier versions.
    #[serde(default)]
    pub runtime: Option<RuntimeVersion>,
    /// Models of its account that the policy declares; those in its archive are not listed.
    #[serde(default)]
    pub models: Vec<DeclaredModel>,
    /// Number of actions of a policy server's answer that are executed before the next request; `null` for all of them,
    /// and for an archive.
    #[serde(default)]
    pub replan_steps: Option<u32>,
    /// Seed from which the worlds of all episodes are drawn.
    pub seed: u64,
    /// Key from which the seeds passed to the policy are derived (for a submission, those of its showcase). `None` in
    /// jobs of earlier versions, which derived the policy's seeds from `seed`.
    #[serde(default)]
    pub policy_key: Option<PolicyKey>,
    /// Selection of the episodes that get a log and a video.
    pub record: Record,
    /// Number of episodes, and the target to certify.
    pub plan: Plan,
    /// Time of acceptance.
    pub created_at: Timestamp,
    /// Warnings about the request, for its author.
    pub warnings: Vec<String>,
    /// The job's entry in the arena; `null` for a verification.
    #[serde(default)]
    pub arena: Option<ArenaEntry>,
    /// Labels that its workers must have, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Distributions from which the scenario draws its worlds; `None` in jobs of earlier versions.
    #[serde(default)]
    pub drawn_ranges: Option<Vec<DrawnRange>>,
}

impl JobHeader {
    /// Returns the kind of the job.
    #[must_use]
    pub fn kind(&self) -> JobKind {
        match &self.arena {
            None => JobKind::Verify,
            Some(entry) if entry.rerun => JobKind::Rerun,
            Some(_) => JobKind::Submission,
        }
    }

    /// Returns the source of a verification's seeds; the seeds of an arena entry depend on its season's secret.
    #[must_use]
    pub fn job_seeds(&self) -> SeedSource {
        SeedSource::Job { seed: self.seed, policy_key: self.policy_key.clone() }
    }

    /// Returns the number of episodes to run: those of the plan, and the showcase of a submission after them.
    #[must_use]
    pub fn episodes_to_run(&self) -> u32 {
        let extra = if self.kind() == JobKind::Submission { SHOWCASE_EPISODES } else { 0 };
        self.plan.episodes.saturating_add(extra)
    }
}

/// The job object. Every field is present in every state, and `null` while it has no value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[expect(missing_docs, reason = "the fields are those of Conclusion and JobHeader, described there")]
pub struct JobReport {
    pub job_id: JobId,
    pub status: JobStatus,
    pub verdict: Option<Verdict>,
    #[schemars(range(min = 0, max = 1))]
    pub score: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    pub composite_score: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    pub progress_score: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    pub safety_score: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    pub consistency: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    pub success_rate: Option<f64>,
    pub vlm_agreement: Option<bool>,
    pub needs_review: bool,
    pub review_reasons: Vec<ReviewReason>,
    pub review: Option<Review>,
    pub blame: Option<Blame>,
    pub reason: Option<String>,
    /// The worst violation, from which `reason` and every other output are made; `null` if no clause was violated, and
    /// in reports of earlier versions.
    #[serde(default)]
    pub worst: Option<ClauseEvent>,
    /// The clause that came closest to its limit; `null` if one was violated, and in reports of earlier versions.
    #[serde(default)]
    pub closest: Option<ClauseEvent>,
    pub error_message: Option<String>,
    pub warnings: Vec<String>,
    pub scenario: ScenarioId,
    pub scenario_version: String,
    pub scenario_digest: Sha256Digest,
    /// Distributions from which the scenario draws the worlds of its episodes, at most 256: those with more than one
    /// value that reach an episode. Empty if it draws nothing; `null` in reports of earlier versions.
    #[serde(default)]
    pub drawn_ranges: Option<Vec<DrawnRange>>,
    /// Version of the render profile that the policy's images were drawn with; `null` without images, and in reports of
    /// earlier versions, which had only version 1.
    #[serde(default)]
    pub render_profile: Option<u32>,
    pub policy_name: String,
    pub policy_sha256: Option<Sha256Digest>,
    pub policy_identity: PolicyIdentity,
    #[serde(default)]
    pub models: Vec<DeclaredModel>,
    #[serde(default)]
    pub replan_steps: Option<u32>,
    pub num_episodes: u32,
    /// Seed from which the worlds of all episodes are drawn: the same seed and `policy_key` give the same episodes.
    pub seed: u64,
    /// Key from which the seeds passed to the policy are derived, 64 hexadecimal digits; `null` in reports of earlier
    /// versions.
    #[serde(default)]
    pub policy_key: Option<PolicyKey>,
    #[schemars(with = "String")]
    pub mode: JobMode,
    pub statistics: Option<Statistics>,
    #[schemars(range(min = 0, max = 1))]
    pub unsafe_success_share: Option<f64>,
    #[schemars(range(min = 0, max = 1))]
    pub violation_severity: Option<f64>,
    pub quadrants: Option<Quadrants>,
    pub unsafe_time_s: Option<f64>,
    #[serde(default)]
    pub sensitivity: Vec<ClauseSensitivity>,
    #[serde(default)]
    pub replaced_attempts: Vec<crate::ReplacedAttempt>,
    pub fingerprint: Option<Fingerprint>,
    pub progress: JobProgress,
    pub queue_position: Option<u32>,
    pub eta_s: Option<f64>,
    /// Reason why `eta_s` is `null` for an unfinished job.
    #[serde(default)]
    pub eta_reason: Option<String>,
    pub waiting_for: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// Time at which policy and evidence were erased at their owner's request. Present only in lists; a request for a
    /// single erased job is answered with GONE.
    #[serde(default)]
    pub erased_at: Option<Timestamp>,
    /// Time at which the evidence was removed, by its owner or because of its age or size; the report is kept.
    #[serde(default)]
    pub evidence_removed_at: Option<Timestamp>,
    /// Path of the first video inside the evidence folder.
    // The serialised names of paths are kept from the first reports.
    #[serde(rename = "video_url")]
    pub video_path: Option<String>,
    /// Path of the HTML report inside the evidence folder.
    #[serde(rename = "report_url")]
    pub report_path: Option<String>,
    /// Path of the signed statement inside the evidence folder.
    #[serde(rename = "attestation_url")]
    pub attestation_path: Option<String>,
    #[serde(default)]
    pub signed_by: Option<String>,
    pub episode_details: Vec<EpisodeResult>,
}

impl JobReport {
    /// Creates the object of a job that was just accepted.
    #[must_use]
    pub fn queued(header: &JobHeader) -> Self {
        let episodes_total = header.episodes_to_run();
        let header = header.clone();
        Self {
            job_id: header.job_id,
            status: JobStatus::Queued,
            verdict: None,
            score: None,
            composite_score: None,
            progress_score: None,
            safety_score: None,
            consistency: None,
            success_rate: None,
            vlm_agreement: None,
            needs_review: false,
            review_reasons: Vec::new(),
            review: None,
            blame: None,
            reason: None,
            worst: None,
            closest: None,
            error_message: None,
            warnings: header.warnings,
            scenario: header.scenario,
            scenario_version: header.scenario_version,
            scenario_digest: header.scenario_digest,
            drawn_ranges: header.drawn_ranges,
            render_profile: header.render_profile,
            policy_name: header.policy_name,
            policy_sha256: header.policy_sha256,
            policy_identity: header.policy_identity,
            models: header.models,
            replan_steps: header.replan_steps,
            num_episodes: header.plan.episodes,
            seed: header.seed,
            policy_key: header.policy_key,
            mode: if header.arena.is_some() { JobMode::Arena } else { JobMode::Verify },
            statistics: None,
            unsafe_success_share: None,
            violation_severity: None,
            quadrants: None,
            unsafe_time_s: None,
            sensitivity: Vec::new(),
            replaced_attempts: Vec::new(),
            fingerprint: None,
            progress: JobProgress::new(JobStatus::Queued, 0, episodes_total),
            queue_position: None,
            eta_s: None,
            eta_reason: None,
            waiting_for: Some("a free lane".to_owned()),
            created_at: header.created_at,
            started_at: None,
            completed_at: None,
            erased_at: None,
            evidence_removed_at: None,
            video_path: None,
            report_path: None,
            attestation_path: None,
            signed_by: None,
            episode_details: Vec::new(),
        }
    }

    /// Sets the episodes recorded so far, with rounded scores.
    #[must_use]
    pub fn with_episodes(mut self, episodes: &[EpisodeResult]) -> Self {
        self.progress.episodes_done = u32::try_from(episodes.len()).unwrap_or(u32::MAX);
        self.episode_details = episodes.iter().cloned().map(EpisodeResult::rounded).collect();
        self.video_path = episodes.iter().find_map(|e| e.video_path.clone());
        self
    }

    /// Sets the status, and what the job waits for.
    #[must_use]
    pub fn in_status(mut self, status: JobStatus, waiting_for: Option<String>) -> Self {
        self.status = status;
        self.waiting_for = waiting_for;
        self.progress = JobProgress::new(status, self.progress.episodes_done, self.progress.episodes_total);
        self
    }

    /// Adds the conclusion of the job.
    #[must_use]
    pub fn with_conclusion(mut self, conclusion: &Conclusion) -> Self {
        let c = conclusion.clone();
        self.verdict = Some(c.verdict);
        self.blame = c.blame;
        self.reason = c.reason;
        self.worst = c.worst;
        self.closest = c.closest;
        self.score = Some(c.score);
        self.composite_score = Some(c.composite_score);
        self.progress_score = Some(c.progress_score);
        self.safety_score = Some(c.safety_score);
        self.consistency = Some(c.consistency);
        self.success_rate = Some(c.success_rate);
        self.vlm_agreement = c.vlm_agreement;
        self.needs_review = c.needs_review;
        self.review_reasons = c.review_reasons;
        self.error_message = c.error_message;
        self.statistics = Some(c.statistics);
        self.unsafe_success_share = Some(c.unsafe_success_share);
        self.violation_severity = Some(c.violation_severity);
        self.quadrants = Some(c.quadrants);
        self.unsafe_time_s = Some(c.unsafe_time_s);
        self.sensitivity = c.sensitivity;
        self.replaced_attempts = c.replaced_attempts;
        self.signed_by = c.signed_by;
        self
    }
}
