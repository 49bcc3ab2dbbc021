//! `[[observation]]`: the input of a policy.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{DEFAULT_IMAGE_SIDE, Frame};

/// A term of the observation.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[schemars(extend("unevaluatedProperties" = false))]
pub struct Observation {
    /// Key in the policy's `observation`.
    pub name: String,
    /// Kind of measurement.
    #[serde(flatten)]
    pub kind: ObservationKind,
    /// Standard deviation of the Gaussian noise added to each number, in its unit.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub noise: f64,
    /// Description for authors of policies.
    #[serde(default)]
    pub description: String,
}

/// Kind of a term of the observation. All are float64 except images, which are bytes, and depth images, float32.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ObservationKind {
    /// Joint positions in rad or m, one per joint of the robot's arm or of the list.
    JointPosition {
        /// A robot's arm.
        robot: Option<String>,
        /// Alternatively, joints by name.
        #[serde(default)]
        joints: Vec<String>,
    },
    /// Joint velocities in rad/s or m/s; otherwise like [`Self::JointPosition`].
    JointVelocity {
        /// A robot's arm.
        robot: Option<String>,
        /// Alternatively, joints by name.
        #[serde(default)]
        joints: Vec<String>,
    },
    /// Distance between the fingers in m, shape `[1]`.
    GripperWidth {
        /// The robot.
        robot: String,
    },
    /// Position in m, world axes, shape `[3]`.
    Position {
        /// The frame.
        of: Frame,
    },
    /// Unit quaternion w, x, y, z in world axes, shape `[4]`.
    Orientation {
        /// The frame.
        of: Frame,
    },
    /// Linear velocity in m/s, world axes, shape `[3]`.
    LinearVelocity {
        /// The frame.
        of: Frame,
    },
    /// Relative position `to - from` in m, world axes, shape `[3]`.
    RelativePosition {
        /// The reference frame.
        from: Frame,
        /// The other frame.
        to: Frame,
    },
    /// A geom's size as defined by MJCF, in m, shape `[3]`.
    Size {
        /// The geom.
        geom: String,
    },
    /// A signal's value, shape `[1]`.
    Signal {
        /// The signal.
        signal: String,
    },
    /// Angular velocity in rad/s in the frame's own axes, shape `[3]`, as measured by a gyroscope.
    BodyRates {
        /// The frame.
        of: Frame,
    },
    /// A scan of one of the robot's laser scanners in m, one number per ray, clamped to the scanner's range.
    Ranges {
        /// The robot.
        robot: String,
        /// The scanner.
        lidar: String,
    },
    /// Image of a camera: bytes of red, green and blue, rows from the top, shape `[height, width, 3]`. Between two
    /// updates the previous image is repeated. Its name is `images/` followed by a word.
    Image {
        /// A camera of the scene, or `ROBOT/CAMERA` of a robot.
        camera: String,
        /// Width of the image in pixels.
        #[serde(default = "image_side")]
        #[schemars(range(min = 16, max = 640))]
        width: u32,
        /// Height of the image in pixels.
        #[serde(default = "image_side")]
        #[schemars(range(min = 16, max = 480))]
        height: u32,
        /// Images per simulated second, at most the control rate, which must be a multiple of it; 10 if absent.
        #[schemars(extend("exclusiveMinimum" = 0))]
        rate_hz: Option<f64>,
        /// Adds the observation `depth/NAME`, shape `[height, width]`: distance in m along the camera's optical axis,
        /// 0 where there is nothing.
        #[serde(default)]
        depth: bool,
    },
    /// The action of the previous step (zeros at first), shape `[action_dim]`.
    // The braces are needed because serde rejects unknown keys only in variants with fields.
    LastAction {},
}

fn image_side() -> u32 {
    DEFAULT_IMAGE_SIDE
}
