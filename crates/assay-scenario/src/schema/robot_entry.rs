//! `[[robot]]`: a robot in the scene.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RobotEntry {
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) mount: String,
    #[serde(default)]
    pub(crate) qpos: Vec<f64>,
}
