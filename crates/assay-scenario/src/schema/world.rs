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
    /// Actions per simulated second; a whole number of physics steps lies between two of them.
    pub control_hz: f64,
}
