//! The contents of `scenario.toml`, with one module per section, from top to bottom. Unknown keys are errors
//! everywhere.

mod arena;
mod budget;
mod camera;
mod clause;
mod control;
mod observation;
mod parameters;
mod robot_entry;
mod signal;
mod stage;
mod world;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Actor, Disturbance};
pub use arena::Arena;
pub use budget::Budget;
pub use camera::Camera;
pub(crate) use clause::ClauseEntry;
pub use control::{ActionSpec, Control, Mode};
pub use observation::{Observation, ObservationKind};
pub(crate) use parameters::SetEntry;
pub use parameters::{Avoid, Distribution, Placement, Scalar};
pub(crate) use robot_entry::RobotEntry;
pub use signal::Signal;
pub(crate) use stage::{StageEntry, SuccessAt, SuccessEntry};
pub use world::World;

/// The complete file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// The format of the file.
    #[schemars(range(min = 1, max = 1))]
    pub(crate) format: u32,
    /// Id of `a-z`, `0-9`, `_` and `-`; must be the name of the folder.
    pub(crate) id: String,
    /// Version of the content; increase it whenever results could change.
    pub(crate) version: String,
    /// Display name.
    pub(crate) name: String,
    /// Description in one sentence.
    pub(crate) description: String,
    /// Task in words, passed to the policy.
    pub(crate) instruction: Option<String>,
    #[schemars(range(min = 1, max = 5))]
    pub(crate) difficulty: u8,
    /// Score of a perfect submission.
    #[schemars(range(min = 1))]
    pub(crate) max_score: u32,
    /// Time limit in simulated seconds, an integer.
    #[schemars(range(min = 1, max = 600))]
    pub(crate) time_limit_s: u32,
    /// Keywords for searching.
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    /// Version of the profile with which the policy's images are drawn; 1 if absent.
    #[schemars(range(min = 1, max = 1))]
    pub(crate) render_profile: Option<u32>,
    pub(crate) world: World,
    #[serde(default)]
    pub(crate) robot: Vec<RobotEntry>,
    #[serde(default)]
    pub(crate) groups: BTreeMap<String, Vec<String>>,
    pub(crate) control: Control,
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Distribution>")]
    pub(crate) parameters: toml::Table,
    #[serde(default)]
    pub(crate) placement: Vec<Placement>,
    #[serde(default)]
    pub(crate) set: Vec<SetEntry>,
    #[serde(default)]
    pub(crate) disturbance: Vec<Disturbance>,
    #[serde(default)]
    pub(crate) actor: Vec<Actor>,
    pub(crate) observation: Vec<Observation>,
    #[serde(default)]
    pub(crate) signals: BTreeMap<String, Signal>,
    #[serde(default)]
    pub(crate) stage: Vec<StageEntry>,
    pub(crate) success: SuccessEntry,
    #[serde(default)]
    pub(crate) clause: Vec<ClauseEntry>,
    #[serde(default)]
    pub(crate) budget: Budget,
    #[serde(default)]
    pub(crate) arena: Arena,
    #[serde(default)]
    pub(crate) camera: Option<Camera>,
}
