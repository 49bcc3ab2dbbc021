//! `[[observation]]`: the input of a policy.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Frame, MAX_IMAGE_HZ};

/// A term of the observation.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[schemars(extend("unevaluatedProperties" = false))]
pub struct Observation {
    /// Key in the policy's `observation`.
    pub name: String,
    /// Kind of measurement.
    #[serde(flatten)]
    pub kind: ObservationKind,
    /// Standard deviation of the normal noise on each of its numbers, in their unit.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub noise: f64,
    /// For the author.
    #[serde(default)]
    pub description: String,
}

/// Kind of a term of the observation. All are float64 but images, which are bytes.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ObservationKind {
    /// rad or m, one per joint of the robot's arm or of the list.
    JointPosition {
        /// A robot's arm.
        robot: Option<String>,
        /// Or joints by name.
        #[serde(default)]
        joints: Vec<String>,
    },
    /// rad/s or m/s, as [`Self::JointPosition`].
    JointVelocity {
        /// A robot's arm.
        robot: Option<String>,
        /// Or joints by name.
        #[serde(default)]
        joints: Vec<String>,
    },
    /// Distance between the fingers in m, shape `[1]`.
    GripperWidth {
        /// Whose.
        robot: String,
    },
    /// m in world axes, shape `[3]`.
    Position {
        /// Of which frame.
        of: Frame,
    },
    /// Unit quaternion w, x, y, z in world axes, shape `[4]`.
    Orientation {
        /// Of which frame.
        of: Frame,
    },
    /// m/s in world axes, shape `[3]`.
    LinearVelocity {
        /// Of which frame.
        of: Frame,
    },
    /// `to - from` in m, world axes, shape `[3]`.
    RelativePosition {
        /// From here.
        from: Frame,
        /// To there.
        to: Frame,
    },
    /// A geom's size as MJCF means it, in m, shape `[3]`.
    Size {
        /// Which.
        geom: String,
    },
    /// A signal's value, shape `[1]`.
    Signal {
        /// Which.
        signal: String,
    },
    /// rad/s in the frame's own axes, shape `[3]`: what a gyroscope there measures.
    BodyRates {
        /// Of which frame.
        of: Frame,
    },
    /// A scan of one of the robot's laser scanners in m, a number a ray; what is nearer or farther than it measures is
    /// told as its least or greatest range.
    Ranges {
        /// Whose.
        robot: String,
        /// Which of its scanners.
        lidar: String,
    },
    /// Image of a camera: bytes of red, green and blue, rows from the top, shape `[224, 224, 3]`. Between two images
    /// the last one is told again. Its name is `images/` and a word.
    Image {
        /// A camera of the scene, or `ROBOT/CAMERA` of a robot.
        camera: String,
        /// Images per simulated second, at most [`MAX_IMAGE_HZ`].
        #[serde(default = "image_hz")]
        rate_hz: f64,
    },
    /// The action of the step before (zeros at first), shape `[action_dim]`.
    // Braces, because serde refuses unknown keys only where a variant has fields.
    LastAction {},
}

fn image_hz() -> f64 {
    MAX_IMAGE_HZ
}
