//! Report of a preflight: the scenario's observations and actions, and the policy's behaviour in its first steps.

use serde::{Deserialize, Serialize};

use crate::{EpisodeError, ImageCost, LatencyMs, PolicyIdentity, ScenarioId, Sha256Digest};

/// Preflight of a policy on a scenario. It has no verdict: a few steps reveal mistakes, but not safety.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Preflight {
    /// True if an episode can be run: no finding has the level `problem`.
    pub holds: bool,
    /// Scenario of the trial run.
    pub scenario: ScenarioId,
    /// Version of the scenario.
    pub scenario_version: String,
    /// Name of the policy, given by its author.
    pub policy_name: String,
    /// SHA-256 of the archive, 64 hexadecimal digits; `null` for a policy server.
    pub policy_sha256: Option<Sha256Digest>,
    /// Way in which the policy is identified.
    pub policy_identity: PolicyIdentity,
    /// Protocol of the policy server; `null` for an archive, and for a policy server that was not reached.
    pub speaks: Option<String>,
    /// Instruction that the policy receives; `null` without one.
    pub instruction: Option<String>,
    /// Number of control steps (observations and actions) per simulated second.
    pub control_hz: f64,
    /// Time limit of a whole episode, in simulated seconds.
    pub time_limit_s: u32,
    /// Terms of the observation.
    pub observation: Vec<ObservedTerm>,
    /// Cost of the observation's images; `null` without images.
    #[serde(default)]
    pub images: Option<ImageCost>,
    /// Terms of the action, with the range of the policy's values.
    pub action: Vec<ActionTerm>,
    /// Limits on the policy's CPU time.
    pub budget: PolicyBudget,
    /// Number of control steps executed.
    pub steps: u32,
    /// CPU time of the import, in milliseconds; `null` for a policy server.
    pub import_cpu_ms: Option<f64>,
    /// Wall-clock time from an observation to its action, in milliseconds, excluding the first; `null` without
    /// measurements.
    pub latency_ms: Option<LatencyMs>,
    /// CPU time from an observation to its action, in milliseconds, excluding the first; `null` for a policy server.
    pub cpu_ms: Option<LatencyMs>,
    /// Wall-clock time from the first observation to its action, in milliseconds; `null` without an action.
    pub first_latency_ms: Option<f64>,
    /// True if a fresh policy with the same seed answered the same observations with the same actions; `null` if this
    /// could not be tested.
    pub deterministic: Option<bool>,
    /// Answers of the policy server; `null` for an archive.
    pub answers: Option<ServerAnswers>,
    /// Error that stopped the policy; `null` without an error.
    pub error: Option<EpisodeError>,
    /// Findings for the policy's author, most severe first.
    pub findings: Vec<Finding>,
    /// Wall-clock duration of the preflight, in seconds.
    pub wall_time_s: f64,
}

/// Term of the observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ObservedTerm {
    /// Key of the term in the observation.
    pub name: String,
    /// Type of the elements: `float64`, `uint8` for images, or `float32` for depth images.
    pub dtype: String,
    /// Lengths of the dimensions, outermost first; empty for a single number.
    pub shape: Vec<u32>,
    /// Unit of the values; `1` if they have none.
    pub unit: String,
    /// Description of the term.
    pub description: String,
}

/// Term of the action: one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ActionTerm {
    /// Name of the term.
    pub name: String,
    /// Unit of the value.
    pub unit: String,
    /// Smallest permitted value; smaller values are clipped.
    pub low: f64,
    /// Greatest permitted value; greater values are clipped.
    pub high: f64,
    /// Smallest value sent by the policy; `null` if it sent none.
    pub least: Option<f64>,
    /// Greatest value sent by the policy; `null` if it sent none.
    pub greatest: Option<f64>,
    /// Number of control steps in which the value was clipped.
    pub clipped: u32,
}

/// Limits on the policy's CPU time, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PolicyBudget {
    /// CPU time of the import beyond which the episode ends, in milliseconds.
    pub import_cpu_ms: f64,
    /// CPU time of the first control step beyond which the episode ends, in milliseconds.
    pub first_cpu_ms: f64,
    /// CPU time of a control step beyond which it counts as a deadline miss, in milliseconds.
    pub step_cpu_ms: f64,
    /// CPU time of a control step beyond which the episode ends, in milliseconds.
    pub hard_cpu_ms: f64,
}

/// Answers of a policy server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerAnswers {
    /// Number of answers.
    pub count: u32,
    /// Number of actions in the shortest answer.
    pub shortest: u32,
    /// Number of actions in the longest answer.
    pub longest: u32,
    /// Number of actions of an answer that are executed before the next request; `null` for all of them.
    pub replan_steps: Option<u32>,
}

/// Level of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingLevel {
    /// A problem that would end an episode.
    Problem,
    /// Probably unintended by the policy's author.
    Warning,
    /// Additional information.
    Note,
}

/// Finding for a policy's author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// Level of the finding.
    pub level: FindingLevel,
    /// Machine-readable code: `policy_error`, `clipped`, `constant`, `nondeterministic`, `unused_images`, `threads`,
    /// `slow_import`, `slow_first`, `slow_step`, `slow_answer`, `slow_server`, `replan`, `chunk`.
    pub code: String,
    /// Description of the finding.
    pub message: String,
    /// Advice to the policy's author.
    pub advice: String,
}
