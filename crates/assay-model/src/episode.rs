//! The result of one episode.

use serde::{Deserialize, Serialize};

use crate::lane::files;
use crate::{ClauseStatus, Gravity, Harm, Judgement, Level, PolicyErrorCode, Sha256Digest};

/// Maximum number of violations kept per clause and episode. The violation count is not limited.
pub const MAX_VIOLATIONS_PER_CLAUSE: usize = 20;
/// Maximum number of unconfirmed statements about an episode.
pub const MAX_UNCONFIRMED: usize = 16;

/// Status of an episode: whether it yields evidence, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeStatus {
    /// The episode ended in a way that the scenario provides for.
    Completed,
    /// The policy failed, or sent an invalid action.
    PolicyError,
    /// The policy exceeded its hard time limit.
    PolicyTimeout,
    /// The physics became unstable; the data after that time is meaningless.
    Invalid,
}

/// Event that ended an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Termination {
    /// The scenario's success condition held.
    Success,
    /// The scenario's time limit was reached.
    TimeLimit,
    /// A clause marked `terminal` was violated.
    TerminalClause,
    /// The policy failed, or sent an invalid action.
    PolicyError,
    /// The policy exceeded its hard time limit.
    PolicyTimeout,
    /// The physics engine raised a warning (divergence, full buffers) or crashed.
    Unstable,
    /// The job was cancelled.
    Cancelled,
}

impl Termination {
    /// Returns a description for people.
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

/// Format of an episode's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogType {
    /// MCAP log, available once the episode's log is rendered.
    Mcap,
    /// Trace of the episode, as Parquet.
    Parquet,
}

impl LogType {
    /// Returns the format of the file with this name, or `None` if it is not a log.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1 {
            "mcap" => Some(Self::Mcap),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// Result of one episode: outcome, scores, clauses and timing. Scores are exact when they are computed, and rounded
/// once, on output, to 4 decimals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EpisodeResult {
    /// Index of the episode in the job, from 0.
    pub episode: u32,
    /// Seed passed to the policy.
    pub seed: u64,
    /// Status of the episode: `completed`, or the reason why it yields no evidence.
    pub status: EpisodeStatus,
    /// Event that ended the episode.
    pub termination: Termination,
    /// True if the task was done: the scenario's success condition held.
    pub success: bool,
    /// Points of the stages reached / points of all stages, in [0, 1].
    #[schemars(range(min = 0, max = 1))]
    pub progress_score: f64,
    /// 1 - the worst weighted violation, in [0, 1]; 0 unless `status` is `completed`.
    #[schemars(range(min = 0, max = 1))]
    pub safety_score: f64,
    /// Mean of the progress and safety scores, in [0, 1]; with a critical violation at most half the safety score.
    #[schemars(range(min = 0, max = 1))]
    pub composite_score: f64,
    /// Number of control steps executed.
    pub steps: u32,
    /// Simulated time, in seconds.
    pub sim_time_s: f64,
    /// Wall-clock time from the first observation to the end of the episode, in seconds.
    pub wall_time_s: f64,
    /// Results of the scenario's stages, in the scenario's order.
    pub stages: Vec<StageResult>,
    /// Results of the scenario's clauses, in the scenario's order.
    pub clauses: Vec<ClauseResult>,
    /// Violations, ordered by start time: at most 20 per clause, always including the worst of each clause.
    pub violations: Vec<Violation>,
    /// Simulated time in which a critical clause was violated, in seconds.
    pub unsafe_time_s: f64,
    /// Wall-clock latency of the policy; `null` if it never sent an action.
    pub policy_latency_ms: Option<LatencyMs>,
    /// Number of control steps in which the policy exceeded the scenario's CPU budget.
    pub deadline_misses: u32,
    /// Number of actions with a value out of range, which was clipped.
    pub clipped_actions: u32,
    /// Number of actions in an answer of the policy, executed one per control step; in the longest, if they differ.
    /// Left out without an answer, and by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<u32>,
    /// Path of the video inside the evidence folder.
    // The serialised names of paths are kept from the first reports.
    #[serde(rename = "video_url")]
    pub video_path: Option<String>,
    /// Path of the log, or of the trace, inside the evidence folder.
    #[serde(rename = "log_url")]
    pub log_path: Option<String>,
    /// Format of the log; `null` without a log.
    #[serde(default)]
    pub log_type: Option<LogType>,
    /// SHA-256 chain over the integration state and action of every control step, 64 hexadecimal digits.
    pub trace_hash: Option<Sha256Digest>,
    /// SHA-256 over the numbers drawn for the world, 64 hexadecimal digits: episodes with the same one ran in the same
    /// world. `null` in reports of earlier versions, and if the episode never began.
    #[serde(default)]
    pub world_sha256: Option<Sha256Digest>,
    /// Judgement of the vision judge; `null` if no judge is configured, or if it did not see this episode.
    pub judge: Option<Judgement>,
    /// The error that ended the episode, described for the policy's author; `null` without an error.
    pub error: Option<EpisodeError>,
    /// Files of evidence, ordered by name.
    #[serde(default)]
    pub evidence: Vec<Artifact>,
    /// Gaps in the evidence, with reasons, such as images over the size limit or missing OpenGL.
    #[serde(default)]
    pub evidence_notes: Vec<String>,
    /// Earlier attempts at this episode that were replaced.
    #[serde(default)]
    pub replaced_attempts: Vec<crate::ReplacedAttempt>,
    /// Statements about this episode that only one worker on another host vouches for, and that no trace shows: at most
    /// 16. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfirmed: Vec<String>,
}

/// A file of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[schemars(with = "ArtifactRecord<'_>")]
pub struct Artifact {
    /// Path of the file inside the evidence folder.
    pub name: String,
    /// SHA-256 of the file's content, 64 hexadecimal digits.
    pub sha256: Sha256Digest,
    /// Size of the file, in bytes.
    pub size_bytes: u64,
}

/// A file of evidence.
// Serialised form of an `Artifact`. Reports have had the field `url` since the first version.
#[derive(Serialize, schemars::JsonSchema)]
struct ArtifactRecord<'a> {
    /// Path of the file inside the evidence folder.
    name: &'a str,
    /// SHA-256 of the file's content, 64 hexadecimal digits.
    sha256: Sha256Digest,
    /// Size of the file, in bytes.
    size_bytes: u64,
    /// Always `null` in reports; only the service provides URLs.
    url: Option<&'a str>,
}

impl Serialize for Artifact {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, sha256, size_bytes } = self;
        ArtifactRecord { name, sha256: *sha256, size_bytes: *size_bytes, url: None }.serialize(serializer)
    }
}

/// Result of one stage of the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StageResult {
    /// Name of the stage in the scenario.
    pub name: String,
    /// Points for reaching the stage.
    pub points: f64,
    /// True if the stage was reached.
    pub passed: bool,
    /// Simulated time at which the stage was reached, in seconds; `null` if it was not reached.
    pub time_s: Option<f64>,
}

/// Result of one clause in one episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClauseResult {
    /// Id of the clause in the scenario.
    pub id: String,
    /// The rule in words; `null` in reports of earlier versions.
    #[serde(default)]
    pub title: Option<String>,
    /// Level of the clause.
    pub level: Level,
    /// Harm that the clause guards against; `null` in reports of earlier versions.
    #[serde(default)]
    pub harm: Option<Harm>,
    /// Source of the limit, such as a standard.
    pub standard: String,
    /// Unit of the limit, the robustness and the worst value.
    pub unit: String,
    /// Limit of the clause.
    pub limit: f64,
    /// Size of a violation of severity 1, in the clause's unit. `null` in reports that do not contain it; the absolute
    /// value of the limit then applies.
    #[serde(default)]
    pub scale: Option<f64>,
    /// Status of the clause in this episode.
    pub status: ClauseStatus,
    /// Smallest margin to the limit, in the clause's unit, negative when violated; `null` if it is not finite. If the
    /// episode ended early, the part that is certain: the smallest final value still possible for a satisfied clause,
    /// the largest for any other.
    pub robustness: Option<f64>,
    /// Measured quantity at the smallest margin, in the clause's unit; `null` if the formula is not a comparison with a
    /// limit.
    pub worst_value: Option<f64>,
    /// Greatest possible margin, in the clause's unit: that of a force of 0, or of nothing within the range of a
    /// distance. `null` if it is unlimited, and in reports of earlier versions.
    #[serde(default)]
    pub best_margin: Option<f64>,
    /// Simulated time of the smallest margin, in seconds.
    pub worst_time_s: Option<f64>,
    /// True if the clause is vacuous: its premise never became true, or no sample was evaluated.
    pub vacuous: bool,
    /// Number of violations (intervals), including those that are not listed.
    pub violation_count: u32,
}

impl ClauseResult {
    /// Returns the robustness as a share of the scale. `None` if it is not finite.
    #[must_use]
    pub fn margin(&self) -> Option<f64> {
        self.robustness.map(|robustness| robustness / self.size())
    }

    /// Returns its gravity, if it is violated.
    #[must_use]
    pub fn gravity(&self) -> Gravity {
        Gravity::new(self.level, self.harm, self.margin())
    }

    /// Returns title and id: `The arm does not touch itself (self_collision)`; the id alone without a title.
    #[must_use]
    pub fn name(&self) -> String {
        let titled = |title: &String| format!("{title} ({})", self.id);
        self.title.as_ref().map_or_else(|| self.id.clone(), titled)
    }

    /// Returns the size of a violation of severity 1, in the clause's unit.
    #[must_use]
    pub fn size(&self) -> f64 {
        // Without a scale and with a limit of 0, one unit.
        self.scale.unwrap_or(if self.limit == 0.0 { 1.0 } else { self.limit.abs() })
    }
}

/// Interval in which a clause was violated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Violation {
    /// Id of the clause.
    pub clause: String,
    /// Level of the clause.
    pub level: Level,
    /// Start of the interval, in simulated seconds.
    pub start_s: f64,
    /// End of the interval, in simulated seconds.
    pub end_s: f64,
    /// Measured value at the start; `null` if the formula is not a comparison with a limit, and in reports of earlier
    /// versions.
    #[serde(default)]
    pub onset_value: Option<f64>,
    /// Simulated time of the worst value, in seconds; `null` in reports of earlier versions.
    #[serde(default)]
    pub peak_s: Option<f64>,
    /// Worst measured value; `null` if the formula is not a comparison with a limit.
    pub value: Option<f64>,
    /// Limit that was violated.
    pub limit: f64,
    /// Unit of the value, the limit and the robustness.
    pub unit: String,
    /// Smallest margin in the interval, negative; `null` if it is not finite.
    pub robustness: Option<f64>,
    /// Bodies or joint involved at the time of the worst value, for each signal of the clause that identifies them.
    #[serde(default)]
    pub involved: Vec<Involved>,
}

/// Bodies or joint that determined the value of a signal at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Involved {
    /// Name of the signal in the scenario.
    pub signal: String,
    /// Names in the scene: the two bodies that were closest or in the hardest contact, or the joint that was closest to
    /// its limit.
    pub names: Vec<String>,
}

impl std::fmt::Display for Involved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.names.join(" and "))
    }
}

/// Wall-clock latency of the policy over an episode, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LatencyMs {
    /// Median, in milliseconds.
    pub p50: f64,
    /// 95th percentile, in milliseconds.
    pub p95: f64,
    /// 99th percentile, in milliseconds.
    pub p99: f64,
    /// Maximum, in milliseconds.
    pub max: f64,
}

/// Error of an episode, described for the author of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EpisodeError {
    /// Reason for the error: `import_error`, `syntax_error`, `no_policy`, `adapter`, `exception`, `bad_action`,
    /// `memory`, `import_timeout`, `timeout`, `wall_budget`, `exited`, `log_flood`, `protocol`, `mismatch`; for policy
    /// servers also `connect`, `server_error`, `closed`; for errors that the policy did not cause, `unstable`,
    /// `simulator_died`, `cut_off`. Reports of other versions may contain other codes.
    #[schemars(with = "String")]
    pub code: PolicyErrorCode,
    /// Description of the error, and how to correct it.
    pub message: String,
    /// End of the policy's standard error output, sanitised.
    pub log_tail: String,
}

impl EpisodeResult {
    /// Returns whether a critical clause was violated.
    #[must_use]
    pub fn has_critical_violation(&self) -> bool {
        self.clauses.iter().any(|c| c.level == Level::Critical && c.status == ClauseStatus::Violated)
    }

    /// Returns whether the episode was completed, every critical clause was decided, and nothing about it is
    /// unconfirmed.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        let open = |c: &ClauseResult| matches!(c.status, ClauseStatus::Undetermined | ClauseStatus::NotApplicable);
        let is_whole = self.status == EpisodeStatus::Completed && self.unconfirmed.is_empty();
        is_whole && !self.clauses.iter().any(|c| c.level == Level::Critical && open(c))
    }

    /// Returns whether the episode was completed, every critical clause was decided, and none was violated.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.is_measured() && !self.has_critical_violation()
    }

    /// Returns whether a file of evidence with this name exists.
    #[must_use]
    pub fn has_evidence(&self, name: &str) -> bool {
        self.evidence.iter().any(|file| file.name == name)
    }

    /// Returns the gravest of the violated clauses, in the order of [`Gravity`], and the time of its smallest margin in
    /// s.
    #[must_use]
    pub fn worst_moment(&self) -> Option<(&ClauseResult, f64)> {
        let violated = self.clauses.iter().filter(|clause| clause.status == ClauseStatus::Violated);
        let onset = |clause: &ClauseResult| self.violations.iter().find(|v| v.clause == clause.id).map(|v| v.start_s);
        let timed = violated.filter_map(|clause| Some((clause, clause.worst_time_s.or_else(|| onset(clause))?)));
        timed.min_by(|(a, _), (b, _)| a.gravity().compare(&b.gravity()))
    }

    /// Adds files rendered from the episode's recording after its result, with names relative to the report, and notes
    /// about gaps in them. Updates the paths of log and video.
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

    /// Rounds the scores half to even, to 4 decimals.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        for score in [&mut self.progress_score, &mut self.safety_score, &mut self.composite_score] {
            *score = crate::round4(*score);
        }
        self
    }
}
