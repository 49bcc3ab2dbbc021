//! `[arena]`: the number of a submission's episodes and the settings of the statistics.

use schemars::JsonSchema;
use serde::Deserialize;

/// Settings of the arena and the statistics.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arena {
    /// Violation probability to which `confidence` refers.
    pub max_violation_probability: f64,
    /// Episodes of a submission.
    pub episodes: u32,
    /// Mean progress of the idle policy; a submission that does not exceed it is not ranked.
    pub idle_progress: f64,
}

impl Default for Arena {
    fn default() -> Self {
        Self { max_violation_probability: 0.10, episodes: 20, idle_progress: 0.0 }
    }
}
