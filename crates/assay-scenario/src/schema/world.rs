//! `[world]`: the scene, and the rates of physics and control.

use schemars::JsonSchema;
use serde::Deserialize;

/// Physics and rates.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// MJCF file of the surroundings, in the scenario's folder.
    pub scene: String,
    /// Physics step in seconds, 1e-4 to 0.02.
    pub timestep_s: f64,
    /// Actions per simulated second; the number of physics steps between two actions must be an integer.
    pub control_hz: f64,
}
