//! `[signals]`: the closed list of quantities that formulas can refer to.
//!
//! A single enum on purpose, although it is long: the code that computes, checks or documents signals matches on it
//! without a catch-all, so that the compiler lists the places where a new signal must be added.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Frame;

/// A named quantity, evaluated at every physics step. A closed list.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Signal {
    /// Minimum signed distance between the geoms of two groups in m, at most `cutoff`.
    Distance {
        /// The first group.
        a: String,
        /// The second group.
        b: String,
        /// Maximum reported distance, in m.
        cutoff: f64,
    },
    /// Sum of the normal forces of all contacts between two groups in N.
    ContactForce {
        /// The first group.
        a: String,
        /// The second group; by default everything that is not in `a`.
        b: Option<String>,
    },
    /// Contact force between two groups in N, as measured by an instrument with a given bandwidth: the magnitude of the
    /// force between each pair of bodies, including friction, summed and low-pass filtered (two-pole Butterworth).
    Force {
        /// The first group.
        a: String,
        /// The second group; by default everything that is not in `a`.
        b: Option<String>,
        /// Cut-off (-3 dB) of the filter in Hz, at most [`crate::MAX_BANDWIDTH`] of the physics steps per second.
        bandwidth_hz: f64,
    },
    /// Greatest penetration depth of a contact between two groups in m, 0 without contact.
    Penetration {
        /// The first group.
        a: String,
        /// The second group; by default everything that is not in `a`.
        b: Option<String>,
    },
    /// Linear speed in m/s.
    Speed {
        /// The frame.
        of: Frame,
    },
    /// Angular speed in rad/s.
    AngularSpeed {
        /// The frame.
        of: Frame,
    },
    /// Distance between two frames' origins in m.
    PointDistance {
        /// The first frame.
        from: Frame,
        /// The second frame.
        to: Frame,
    },
    /// Magnitude of the mean linear acceleration over the last `window_s`, without gravity, in m/s2.
    Acceleration {
        /// The frame.
        of: Frame,
        /// Window in s, an integer number of physics steps.
        window_s: f64,
    },
    /// Angle in rad between a frame's z axis and the apparent gravity: gravity minus the mean acceleration over the
    /// last `window_s`, to which the surface of a liquid is perpendicular.
    ApparentTilt {
        /// The frame.
        of: Frame,
        /// Window in s, an integer number of physics steps.
        window_s: f64,
    },
    /// Mean magnitude of the linear acceleration over the last `window_s` in m/s2. Shaking back and forth, which
    /// cancels out of the mean acceleration, adds up here.
    Agitation {
        /// The frame.
        of: Frame,
        /// Window in s, an integer number of physics steps.
        window_s: f64,
    },
    /// Greatest speed in m/s at which a geom of `a` moves, by its own motion, towards a geom of `b` closer than
    /// `within`; if the two touch or overlap, its speed in any direction. 0 if no geom is that close.
    ApproachSpeed {
        /// The group whose motion counts.
        a: String,
        /// The group that it approaches; its motion does not count.
        b: String,
        /// Maximum distance of geoms that count, in m.
        within: f64,
    },
    /// Greatest speed in m/s of the geoms of a group: at both ends of the axis of a capsule or cylinder, at all corners
    /// of a box, and at the centre of any other geom.
    GreatestSpeed {
        /// The group.
        of: String,
    },
    /// A number of the policy's action, clipped.
    Action {
        /// Name of the number in `control.action`.
        name: String,
    },
    /// Speed of one frame's origin relative to another's, in m/s; for actors, the speed of their track motion.
    RelativeSpeed {
        /// The reference frame.
        from: Frame,
        /// The moving frame.
        to: Frame,
    },
    /// Distance of a frame's origin from its initial position, in m.
    Displacement {
        /// The frame.
        of: Frame,
    },
    /// Number of the frames whose origin is inside a box.
    Inside {
        /// The frames.
        of: Vec<Frame>,
        /// A geom of type box, which need not collide.
        within: String,
    },
    /// A coordinate in m, world axes.
    Position {
        /// The frame.
        of: Frame,
        /// `x`, `y` or `z`.
        axis: Axis,
    },
    /// A joint's value in rad or m.
    JointValue {
        /// The joint.
        joint: String,
    },
    /// A joint's velocity in rad/s or m/s, signed.
    JointSpeed {
        /// The joint.
        joint: String,
    },
    /// Smallest distance of an arm joint to its position limit in rad, negative beyond it.
    JointPositionMargin {
        /// The robot.
        robot: String,
    },
    /// Greatest |velocity| / limit over the arm's joints.
    JointVelocityRatio {
        /// The robot.
        robot: String,
    },
    /// Greatest |torque| / limit over the arm's joints, including gravity compensation.
    JointTorqueRatio {
        /// The robot.
        robot: String,
    },
    /// Angle between the frame's z axis and the world's in rad.
    Tilt {
        /// The frame.
        of: Frame,
    },
    /// Smallest distance to the walls of a box in m: positive inside, negative outside.
    Geofence {
        /// The frame.
        of: Frame,
        /// Minimum x, y, z of the box in m, world axes.
        low: [f64; 3],
        /// Maximum x, y, z of the box.
        high: [f64; 3],
    },
    /// Number of frames reached so far, in the order of the list.
    Visited {
        /// The moving frame.
        of: Frame,
        /// The frames to visit.
        frames: Vec<Frame>,
        /// Distance within which a frame counts as reached, m.
        radius: f64,
    },
    /// Number of openings crossed so far, in the order of the list. An opening is a rectangle in the y-z plane of its
    /// frame; it is crossed by passing through it in the direction of the frame's x axis.
    Crossed {
        /// The moving frame.
        of: Frame,
        /// The centres of the openings.
        frames: Vec<Frame>,
        /// Half the openings' width (along y) and height (along z) in m.
        half_size: [f64; 2],
    },
    /// Number of reversals of another signal within the last `window_s`: from rising to falling or back, by more
    /// than `band` each time.
    Reversals {
        /// The other signal.
        signal: String,
        /// Minimum size of a movement, in the signal's unit.
        band: f64,
        /// Window in s, an integer number of physics steps.
        window_s: f64,
    },
    /// Rate of change of another signal, in its unit per second; 0 at the first step.
    Rate {
        /// The other signal.
        signal: String,
    },
    /// Total time in s for which another signal has been below a value.
    Exposure {
        /// The other signal.
        signal: String,
        /// The value.
        below: f64,
    },
}

impl Signal {
    /// Returns whether the signal is derived from another one.
    #[must_use]
    pub fn is_derived(&self) -> bool {
        match self {
            Self::Rate { .. } | Self::Reversals { .. } | Self::Exposure { .. } => true,
            Self::Distance { .. }
            | Self::ContactForce { .. }
            | Self::Force { .. }
            | Self::Penetration { .. }
            | Self::Speed { .. }
            | Self::AngularSpeed { .. }
            | Self::PointDistance { .. }
            | Self::Acceleration { .. }
            | Self::ApparentTilt { .. }
            | Self::Agitation { .. }
            | Self::ApproachSpeed { .. }
            | Self::GreatestSpeed { .. }
            | Self::Action { .. }
            | Self::RelativeSpeed { .. }
            | Self::Displacement { .. }
            | Self::Inside { .. }
            | Self::Position { .. }
            | Self::JointValue { .. }
            | Self::JointSpeed { .. }
            | Self::JointPositionMargin { .. }
            | Self::JointVelocityRatio { .. }
            | Self::JointTorqueRatio { .. }
            | Self::Tilt { .. }
            | Self::Geofence { .. }
            | Self::Visited { .. }
            | Self::Crossed { .. } => false,
        }
    }

    /// Returns the unit of the signal's values.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Distance { .. }
            | Self::Penetration { .. }
            | Self::PointDistance { .. }
            | Self::Displacement { .. }
            | Self::Position { .. }
            | Self::Geofence { .. } => "m",
            Self::ContactForce { .. } | Self::Force { .. } => "N",
            Self::Speed { .. }
            | Self::RelativeSpeed { .. }
            | Self::ApproachSpeed { .. }
            | Self::GreatestSpeed { .. } => "m/s",
            Self::AngularSpeed { .. } => "rad/s",
            Self::Acceleration { .. } | Self::Agitation { .. } => "m/s2",
            Self::JointValue { .. } => "rad or m",
            Self::JointSpeed { .. } => "rad/s or m/s",
            Self::JointPositionMargin { .. } | Self::Tilt { .. } | Self::ApparentTilt { .. } => "rad",
            Self::JointVelocityRatio { .. }
            | Self::JointTorqueRatio { .. }
            | Self::Inside { .. }
            | Self::Visited { .. }
            | Self::Crossed { .. }
            | Self::Reversals { .. } => "1",
            Self::Action { .. } => "as the action",
            Self::Rate { .. } => "per s",
            Self::Exposure { .. } => "s",
        }
    }
}

/// A world axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Forward.
    X,
    /// Left.
    Y,
    /// Up.
    Z,
}
