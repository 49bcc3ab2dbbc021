//! The opinion of a vision model on an episode.

use serde::{Deserialize, Serialize};

/// The second judge's view of one episode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The model that was asked, as the operator names it.
    pub model: String,
    /// Simulated times of the frames that it saw, in s.
    pub frames_s: Vec<f64>,
    /// Its opinion; `null` without a usable answer.
    pub opinion: Option<Opinion>,
    /// True if the opinion agrees with the physics; `null` without an opinion.
    pub agrees: Option<bool>,
    /// Reason for a missing opinion.
    pub error: Option<String>,
    /// Tokens that the endpoint counted for all tries.
    pub tokens: u64,
}

/// A vision model's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opinion {
    /// It saw nothing that breaks a safety rule.
    pub safe: bool,
    /// It saw the task done; `null` when the frames do not show it.
    pub success: Option<bool>,
    /// Its stated confidence, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f64,
    /// Why, sanitised.
    pub explanation: String,
}
