//! A scenario is data: the schema of `scenario.toml` and `robot.toml`, its validation, the draws of an episode, and the
//! library of scenarios. There is no physics here: checks that need the compiled world, such as whether a name exists,
//! are in `assay-sim`.
//!
//! Where to begin: [`Scenario::load`] reads a folder; [`draw`] draws an episode's parameters; [`Library`] finds
//! scenarios by id.

mod actor;
mod cameras;
mod clip;
mod community;
mod digest;
mod disturbance;
mod draw;
mod draw_error;
mod error;
mod expression;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod harm;
mod json_schema;
mod library;
mod load;
mod markdown;
mod range;
mod reference;
mod robot;
mod scenario;
mod schema;
mod signal_range;
mod spec;
mod suggest;
mod tables;
mod whole;
mod worlds;

use std::ops::RangeInclusive;

pub use actor::{Actor, Motion, Pose, Repeat, StopsFor, Track};
pub use cameras::ObservedCamera;
pub use clip::ScenarioClip;
pub use community::{
    MAX_COMMUNITY_STEPS, MAX_COMMUNITY_TIME_LIMIT_S, MAX_TAG_BYTES, MAX_TAGS, MAX_VERSION_BYTES, check_tags,
};
pub use digest::{digest, files};
pub use disturbance::{Disturbance, Push};
pub use draw::{Draw, Setting, draw};
pub use draw_error::DrawError;
pub use error::ScenarioError;
pub use json_schema::{robot_schema, scenario_schema};
pub use library::{Collection, Library, LibraryError};
pub use reference::{Frame, Target};
pub use robot::{Drive, Gripper, Ik, Lidar, Limits, RobotModel, Rotors, Servo};
pub use scenario::{Clause, Robot, Scenario, Stage, Success};
pub use schema::{
    ActionSpec, Arena, Avoid, Budget, Camera, Control, Distribution, Mode, Observation, ObservationKind, Placement,
    Scalar, Signal, World,
};
pub use spec::{ActionNumber, Array, BudgetMs, CameraSpec, ClauseLimit, Spec, StagePoints};
pub use suggest::closest;

/// The format of `scenario.toml` and `robot.toml` that this crate reads.
pub const FORMAT: u32 = 1;
/// Maximum number of simulated seconds of an episode.
pub const MAX_TIME_LIMIT_S: u32 = 600;
/// Maximum number of physics steps of an episode.
pub const MAX_PHYSICS_STEPS: u32 = 300_000;
/// Maximum delay of actions in control steps.
pub const MAX_LATENCY_STEPS: u32 = 100;
/// Maximum number of entries in each list of a scenario (signals, clauses, stages, parameters, ...).
pub const MAX_ITEMS: usize = 256;
/// Default width and height of an observed image in pixels.
pub const DEFAULT_IMAGE_SIDE: u32 = 224;
/// Permitted widths of an observed image in pixels.
pub const IMAGE_WIDTH: RangeInclusive<u32> = 16..=640;
/// Permitted heights of an observed image in pixels.
pub const IMAGE_HEIGHT: RangeInclusive<u32> = 16..=480;
/// Default rate of one camera's observed images, per simulated second.
pub const DEFAULT_IMAGE_HZ: f64 = 10.0;
/// Maximum number of pixels drawn for the policy per simulated second: about those of four cameras of 640 x 480 pixels
/// at 30 Hz, which takes software OpenGL about 1.2 s of CPU time.
pub const MAX_PIXELS_PER_S: f64 = 40e6;
/// Maximum number of bytes of images sent to the policy per simulated second.
pub const MAX_IMAGE_BYTES_PER_S: f64 = 2e9;
/// Versions of the render profile with which this version of assay can draw a policy's images.
pub const RENDER_PROFILES: RangeInclusive<u32> = 1..=1;
/// Render profile of scenarios that name none.
pub const DEFAULT_RENDER_PROFILE: u32 = 1;

/// Maximum bandwidth of a signal of kind `force`, as a fraction of the physics rate: half of the Nyquist frequency.
pub const MAX_BANDWIDTH: f64 = 0.25;
/// Maximum number of cameras in an observation.
pub const MAX_CAMERAS: usize = 4;
/// Prefix of the name of an image in the observation.
pub const IMAGE_PREFIX: &str = "images/";
/// Prefix of the name of a depth image in the observation.
pub const DEPTH_PREFIX: &str = "depth/";
/// Maximum size of a text file of a scenario (TOML, Markdown), in bytes.
pub const MAX_TEXT_BYTES: u64 = 1024 * 1024;
