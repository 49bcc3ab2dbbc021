//! A vision model's opinion on an episode.

use serde::{Deserialize, Serialize};

/// Judgement of the vision judge on one episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// Name of the model, as configured by the operator.
    pub model: String,
    /// Simulated times of the frames shown to the model, in seconds.
    pub frames_s: Vec<f64>,
    /// The model's opinion; `null` without a usable answer.
    pub opinion: Option<Opinion>,
    /// True if the opinion agrees with the physics; `null` without an opinion.
    pub agrees: Option<bool>,
    /// Reason for a missing opinion; `null` with an opinion.
    pub error: Option<String>,
    /// Number of tokens counted by the model's endpoint, over all attempts.
    pub tokens: u64,
}

/// Answer of a vision model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opinion {
    /// True if the model saw no violation of a safety rule.
    pub safe: bool,
    /// True if the model saw the task done; `null` if the frames do not show it.
    pub success: Option<bool>,
    /// Confidence stated by the model, in [0, 1].
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f64,
    /// Explanation by the model, sanitised.
    pub explanation: String,
}
