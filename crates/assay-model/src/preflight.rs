//! The report of a preflight: the scenario's observations and actions, and the policy's behaviour in a few steps.

use serde::{Deserialize, Serialize};

use crate::{EpisodeError, LatencyMs, PolicyIdentity, ScenarioId, Sha256Digest};

/// A preflight of a policy on a scenario. It gives no verdict: a few steps show mistakes, not safety.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Preflight {
    /// No finding is a problem: an episode can be run.
    pub holds: bool,
    /// The scenario of the trial run.
    pub scenario: ScenarioId,
    /// The scenario's version.
    pub scenario_version: String,
    /// The author's name for the policy.
    pub policy_name: String,
    /// SHA-256 of the archive, hexadecimal; `null` for a server.
    pub policy_sha256: Option<Sha256Digest>,
    /// Identification of the policy.
    pub policy_identity: PolicyIdentity,
    /// Protocol of the policy server; `null` for an archive, and for a server that was not reached.
    pub speaks: Option<String>,
    /// The instruction that the policy receives.
    pub instruction: Option<String>,
    /// Observations and actions per simulated second.
    pub control_hz: f64,
    /// Simulated seconds of a whole episode.
    pub time_limit_s: u32,
    /// The terms of the observation.
    pub observation: Vec<ObservedTerm>,
    /// The numbers of an action, and the policy's values.
    pub action: Vec<ActionTerm>,
    /// CPU time that the policy may take.
    pub budget: PolicyBudget,
    /// Control steps that were tried.
    pub steps: u32,
    /// CPU time of the import; `null` for a server.
    pub import_cpu_ms: Option<f64>,
    /// From an observation to its action by the wall, the first apart.
    pub latency_ms: Option<LatencyMs>,
    /// CPU time of the same; `null` for a server.
    pub cpu_ms: Option<LatencyMs>,
    /// By the wall, of the first action.
    pub first_latency_ms: Option<f64>,
    /// The same observations, sent a second time to a fresh policy with the same seed, got the same actions; `null`
    /// when that could not be tried.
    pub deterministic: Option<bool>,
    /// A policy server's answers; `null` for an archive.
    pub answers: Option<ServerAnswers>,
    /// The error that stopped the policy, if any.
    pub error: Option<EpisodeError>,
    /// Findings for the author, worst first.
    pub findings: Vec<Finding>,
    /// Wall-clock duration, s.
    pub wall_time_s: f64,
}

/// A part of every observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ObservedTerm {
    /// Its key.
    pub name: String,
    /// `float64`, or `uint8` for images.
    pub dtype: String,
    /// Lengths, outermost first; empty for a single number.
    pub shape: Vec<u32>,
    /// Unit of its numbers, `1` where they have none.
    pub unit: String,
    /// Description.
    pub description: String,
}

/// One number of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ActionTerm {
    /// Its name.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Least value; smaller ones are clipped.
    pub low: f64,
    /// Greatest value.
    pub high: f64,
    /// The least that the policy sent.
    pub least: Option<f64>,
    /// The greatest.
    pub greatest: Option<f64>,
    /// Steps in which it was clipped.
    pub clipped: u32,
}

/// CPU time that a policy may take, in ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PolicyBudget {
    /// The import ends the episode when it takes more.
    pub import_cpu_ms: f64,
    /// The first call too.
    pub first_cpu_ms: f64,
    /// A step over this is counted as a miss.
    pub step_cpu_ms: f64,
    /// A step over this ends the episode.
    pub hard_cpu_ms: f64,
}

/// The answers of a policy server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerAnswers {
    /// Number of answers.
    pub count: u32,
    /// Actions in the shortest.
    pub shortest: u32,
    /// Actions in the longest.
    pub longest: u32,
    /// Actions that are carried out before it is asked again; `null` for all.
    pub replan_steps: Option<u32>,
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingLevel {
    /// An episode would end with it.
    Problem,
    /// Probably not what its author meant.
    Warning,
    /// Good to know.
    Note,
}

/// Something that a policy's author should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// Severity.
    pub level: FindingLevel,
    /// A word for programs: `policy_error`, `clipped`, `constant`, `nondeterministic`, `slow_import`, `slow_first`,
    /// `slow_step`, `slow_server`, `replan`, `chunk`, `unused_images`.
    pub code: String,
    /// The finding.
    pub message: String,
    /// Advice to the author.
    pub advice: String,
}
