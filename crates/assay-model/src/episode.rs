//! The result of one rollout.

use serde::{Deserialize, Serialize};

use crate::lane::files;
use crate::{ClauseStatus, Judgement, Level, PolicyErrorCode, Sha256Digest};

/// Violations kept per clause and episode; the count goes on.
pub const MAX_VIOLATIONS_PER_CLAUSE: usize = 20;

/// Whether an episode yields evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeStatus {
    /// It ran to an end that the scenario foresees.
    Completed,
    /// The policy crashed or sent something that is no action.
    PolicyError,
    /// The policy used up its hard time limit.
    PolicyTimeout,
    /// The physics went wrong; nothing after that moment means anything.
    Invalid,
}

/// The event that ended an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Termination {
    /// The scenario's success condition held.
    Success,
    /// The scenario's time was over.
    TimeLimit,
    /// A clause marked `terminal` was violated.
    TerminalClause,
    /// The policy crashed or sent something that is no action.
    PolicyError,
    /// The policy used up its hard time limit.
    PolicyTimeout,
    /// The physics engine warned (divergence, full buffers) or died.
    Unstable,
    /// The job was cancelled.
    Cancelled,
}

impl Termination {
    /// In words, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::TimeLimit => "time limit",
            Self::TerminalClause => "terminal clause",
            Self::PolicyError => "policy error",
            Self::PolicyTimeout => "policy time-out",
            Self::Unstable => "unstable physics",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The format of an episode's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogType {
    /// The log with images, once the episode is drawn.
    Mcap,
    /// The recorded trace.
    Parquet,
}

impl LogType {
    /// The format of the file with this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "mcap" => Some(Self::Mcap),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// One rollout: outcome, scores, clauses, timing. Scores are exact here; they are rounded once, at the edge
/// ([`EpisodeResult::rounded`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EpisodeResult {
    /// Index in the job, from 0.
    pub episode: u32,
    /// The seed that the policy received.
    pub seed: u64,
    /// The status of the episode: `completed`, or why it yields no evidence.
    pub status: EpisodeStatus,
    /// The event that ended the episode.
    pub termination: Termination,
    /// The task was done.
    pub success: bool,
    /// Points reached / all points, in [0, 1].
    #[schemars(range(min = 0, max = 1))]
    pub progress_score: f64,
    /// 1 - the worst weighted violation, in [0, 1]; 0 unless `completed`.
    #[schemars(range(min = 0, max = 1))]
    pub safety_score: f64,
    /// See [`crate::episode_composite`].
    #[schemars(range(min = 0, max = 1))]
    pub composite_score: f64,
    /// Control steps taken.
    pub steps: u32,
    /// Simulated seconds.
    pub sim_time_s: f64,
    /// Seconds by the wall, from the first observation to the end.
    pub wall_time_s: f64,
    /// The scenario's stages, in its order.
    pub stages: Vec<StageResult>,
    /// The scenario's clauses, in its order.
    pub clauses: Vec<ClauseResult>,
    /// At most [`MAX_VIOLATIONS_PER_CLAUSE`] a clause, its gravest always among them, by start.
    pub violations: Vec<Violation>,
    /// Simulated seconds in which a critical clause was broken.
    pub unsafe_time_s: f64,
    /// Wall-clock latency of the policy; `null` when it never acted.
    pub policy_latency_ms: Option<LatencyMs>,
    /// Steps over the scenario's CPU budget.
    pub deadline_misses: u32,
    /// Actions with a number out of range, which was clipped.
    pub clipped_actions: u32,
    /// Path of the video inside the evidence folder.
    // The serialised names of paths are those of the first reports.
    #[serde(rename = "video_url")]
    pub video_path: Option<String>,
    /// Path of the log, or of the trace, inside the evidence folder.
    #[serde(rename = "log_url")]
    pub log_path: Option<String>,
    /// Type of the log; `null` without one.
    #[serde(default)]
    pub log_type: Option<LogType>,
    /// SHA-256 chain over integration state and action of every control step, hexadecimal.
    pub trace_hash: Option<Sha256Digest>,
    /// The vision judge's answer; `null` when none is configured.
    pub judge: Option<Judgement>,
    /// The policy's error, for its author.
    pub error: Option<EpisodeError>,
    /// The files that show it, in the order of their names.
    #[serde(default)]
    pub evidence: Vec<Artifact>,
    /// Gaps in the evidence, with reasons: images over the limit, no OpenGL.
    #[serde(default)]
    pub evidence_notes: Vec<String>,
    /// Attempts at this episode that this one replaced.
    #[serde(default)]
    pub replaced_attempts: Vec<crate::ReplacedAttempt>,
}

/// A file of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[schemars(with = "ArtifactRecord<'_>")]
pub struct Artifact {
    /// Its path inside the evidence folder.
    pub name: String,
    /// SHA-256 of its bytes, hexadecimal.
    pub sha256: Sha256Digest,
    /// Its length in bytes.
    pub size_bytes: u64,
}

/// A file of evidence.
// The serialised form of an `Artifact`. Reports have a field `url` since the first version.
#[derive(Serialize, schemars::JsonSchema)]
struct ArtifactRecord<'a> {
    /// Its path inside the evidence folder.
    name: &'a str,
    /// SHA-256 of its bytes, hexadecimal.
    sha256: Sha256Digest,
    /// Its length in bytes.
    size_bytes: u64,
    /// Always `null`: only the service gives addresses.
    url: Option<&'a str>,
}

impl Serialize for Artifact {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, sha256, size_bytes } = self;
        ArtifactRecord { name, sha256: *sha256, size_bytes: *size_bytes, url: None }.serialize(serializer)
    }
}

/// One stage of the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StageResult {
    /// The scenario's name for it.
    pub name: String,
    /// Points for reaching it.
    pub points: f64,
    /// It was reached.
    pub passed: bool,
    /// When, in simulated seconds.
    pub time_s: Option<f64>,
}

/// One clause in one episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClauseResult {
    /// The scenario's id for it.
    pub id: String,
    /// Level of a clause.
    pub level: Level,
    /// Where the limit comes from.
    pub standard: String,
    /// Unit of limit and robustness.
    pub unit: String,
    /// The limit.
    pub limit: f64,
    /// The margin of the gravest violation, in the clause's unit; `null` in reports that do not tell it (the size of
    /// the limit).
    #[serde(default)]
    pub scale: Option<f64>,
    /// Status of the clause in this episode.
    pub status: ClauseStatus,
    /// Margin in the clause's unit, negative when violated; `null` when it is not finite. Of an episode that broke off,
    /// what is settled: the least that a satisfied clause can still come to, and the most that any other can.
    pub robustness: Option<f64>,
    /// The measured quantity at the least margin, in the clause's unit; `null` where the formula is no comparison with
    /// a limit.
    pub worst_value: Option<f64>,
    /// When the margin was least, in simulated seconds.
    pub worst_time_s: Option<f64>,
    /// The premise never fired, or no sample was looked at.
    pub vacuous: bool,
    /// Violations seen (intervals), kept or not.
    pub violation_count: u32,
}

impl ClauseResult {
    /// Robustness as a share of the scale; `None` when it is not finite.
    #[must_use]
    pub fn margin(&self) -> Option<f64> {
        // Where neither is told, a unit.
        let size = if self.limit == 0.0 { 1.0 } else { self.limit.abs() };
        self.robustness.map(|robustness| robustness / self.scale.unwrap_or(size))
    }
}

/// An interval in which a clause was broken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Violation {
    /// The clause's id.
    pub clause: String,
    /// Its level.
    pub level: Level,
    /// First simulated second of it.
    pub start_s: f64,
    /// Last simulated second of it.
    pub end_s: f64,
    /// The worst measured value; `null` where the formula is no comparison with a limit.
    pub value: Option<f64>,
    /// The limit it passed.
    pub limit: f64,
    /// Unit of value, limit and robustness.
    pub unit: String,
    /// The least margin in the interval (negative).
    pub robustness: Option<f64>,
    /// The bodies or the joint involved at that moment, for each signal of the clause that identifies them.
    #[serde(default)]
    pub involved: Vec<Involved>,
}

/// The bodies or the joint behind a signal's value at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Involved {
    /// The signal's name in the scenario.
    pub signal: String,
    /// Names in the scene: the two bodies that were nearest or pressed hardest on each other, or the joint that was
    /// nearest to its limit.
    pub names: Vec<String>,
}

impl std::fmt::Display for Involved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.names.join(" and "))
    }
}

/// Latency of the policy over an episode, in milliseconds by the wall.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LatencyMs {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

/// An error report for the author of a failing policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EpisodeError {
    /// A short word for the reason: `import_error`, `syntax_error`, `no_policy`, `exception`, `bad_action`, `memory`,
    /// `import_timeout`, `timeout`, `wall_budget`, `exited`, `log_flood`, `protocol`; of policy servers also `connect`,
    /// `server_error`, `mismatch`, `closed`; of episodes that are no result of the policy `unstable`, `simulator_died`,
    /// `cut_off`. Reports of other versions may have others.
    #[schemars(with = "String")]
    pub code: PolicyErrorCode,
    /// The error, and how to correct it.
    pub message: String,
    /// The end of the policy's stderr, sanitised.
    pub log_tail: String,
}

impl EpisodeResult {
    /// A critical clause was violated.
    #[must_use]
    pub fn has_critical_violation(&self) -> bool {
        self.clauses.iter().any(|c| c.level == Level::Critical && c.status == ClauseStatus::Violated)
    }

    /// The episode says for every critical clause whether it held.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        let open = |c: &ClauseResult| matches!(c.status, ClauseStatus::Undetermined | ClauseStatus::NotApplicable);
        self.status == EpisodeStatus::Completed && !self.clauses.iter().any(|c| c.level == Level::Critical && open(c))
    }

    /// Every critical clause was decided and none violated.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.is_measured() && !self.has_critical_violation()
    }

    /// A file of evidence with this name exists.
    #[must_use]
    pub fn has_evidence(&self, name: &str) -> bool {
        self.evidence.iter().any(|file| file.name == name)
    }

    /// Adds files that were written from its recording after its result (named relative to the report), and what is to
    /// be known about them. The paths of log and video follow.
    pub fn add_rendering(&mut self, files: &[Artifact], notes: &[String]) {
        let named = |name: &str| files.iter().map(|file| &file.name).find(|path| path.ends_with(name)).cloned();
        let log = named(files::LOG).or(self.log_path.take());
        self.set_log(log);
        self.video_path = named(files::VIDEO).or(self.video_path.take());
        self.evidence.extend_from_slice(files);
        self.evidence.sort_by(|a, b| a.name.cmp(&b.name));
        self.evidence_notes.extend_from_slice(notes);
    }

    /// Sets the path of the log inside the evidence folder.
    pub fn set_log(&mut self, path: Option<String>) {
        self.log_type = path.as_deref().and_then(LogType::of);
        self.log_path = path;
    }

    /// Rounds the scores half-even to 4 decimals.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        for score in [&mut self.progress_score, &mut self.safety_score, &mut self.composite_score] {
            *score = crate::round4(*score);
        }
        self
    }
}
