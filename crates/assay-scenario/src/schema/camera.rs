//! `[camera]`: the camera of the video.

use schemars::JsonSchema;
use serde::Deserialize;

/// Camera of the video.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Camera {
    /// A camera of the scene.
    pub name: String,
}
