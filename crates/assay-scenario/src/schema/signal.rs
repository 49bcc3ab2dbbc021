//! `[signals]`: the closed list of quantities that formulas can refer to.
//!
//! One enum on purpose, although it is long: the code that computes, checks or documents signals matches on it without
//! a catch-all, so that the compiler lists the places that a new signal needs.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Frame;

/// A named quantity, evaluated at every physics step: the closed list.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Signal {
    /// Least signed distance between the geoms of two groups in m; `cutoff` where they are farther apart.
    Distance {
        /// A group.
        a: String,
        /// Another.
        b: String,
        /// Distances above this are not told apart, in m.
        cutoff: f64,
    },
    /// Sum of the normal forces of all contacts between two groups in N.
    ContactForce {
        /// A group.
        a: String,
        /// Another; anything that is not in `a` where absent.
        b: Option<String>,
    },
    /// Contact force between two groups in N as an instrument of a stated bandwidth shows it: for each pair of bodies
    /// the size of their force, friction included, summed, and low-pass filtered (two-pole Butterworth).
    Force {
        /// A group.
        a: String,
        /// Another; anything that is not in `a` where absent.
        b: Option<String>,
        /// Cut-off (-3 dB) of the filter in Hz, at most [`crate::MAX_BANDWIDTH`] of the physics steps per second.
        bandwidth_hz: f64,
    },
    /// Greatest penetration of a contact between two groups in m, 0 without contact.
    Penetration {
        /// A group.
        a: String,
        /// Another; anything that is not in `a` where absent.
        b: Option<String>,
    },
    /// Linear speed in m/s.
    Speed {
        /// Of which frame.
        of: Frame,
    },
    /// Angular speed in rad/s.
    AngularSpeed {
        /// Of which frame.
        of: Frame,
    },
    /// Distance between two frames' origins in m.
    PointDistance {
        /// From here.
        from: Frame,
        /// To there.
        to: Frame,
    },
    /// Size of the mean linear acceleration over the last `window_s`, gravity not included, in m/s2.
    Acceleration {
        /// Of which frame.
        of: Frame,
        /// A whole number of physics steps, in s.
        window_s: f64,
    },
    /// Angle in rad between a frame's z axis and the apparent gravity in it: gravity and the mean acceleration over the
    /// last `window_s` together, as the surface of a liquid feels them.
    ApparentTilt {
        /// Of which frame.
        of: Frame,
        /// A whole number of physics steps, in s.
        window_s: f64,
    },
    /// Mean size of the linear acceleration over the last `window_s` in m/s2: what shakes to and fro adds up here,
    /// where a mean acceleration cancels out.
    Agitation {
        /// Of which frame.
        of: Frame,
        /// A whole number of physics steps, in s.
        window_s: f64,
    },
    /// Greatest speed in m/s at which a geom of `a` moves, by its own motion, towards a geom of `b` that is nearer than
    /// `within`; where the two touch or overlap, its speed in any direction. 0 where nothing is that near.
    ApproachSpeed {
        /// The group whose motion counts.
        a: String,
        /// The group that it approaches; its motion does not count.
        b: String,
        /// Geoms farther apart than this do not count, in m.
        within: f64,
    },
    /// Greatest speed in m/s of the geoms of a group: of both ends of the axis of a capsule or cylinder, of all corners
    /// of a box, of the middle of anything else.
    GreatestSpeed {
        /// The group.
        of: String,
    },
    /// A number of the policy's action, as it was clipped.
    Action {
        /// Its name in `control.action`.
        name: String,
    },
    /// Speed of one frame's origin as seen from another's, in m/s; actors count with the speed of their motion.
    RelativeSpeed {
        /// Seen from here.
        from: Frame,
        /// Of this one.
        to: Frame,
    },
    /// Distance of a frame's origin from where it was at the start, in m.
    Displacement {
        /// Of which frame.
        of: Frame,
    },
    /// Number of the frames whose origin is inside a box.
    Inside {
        /// The frames.
        of: Vec<Frame>,
        /// A geom of type box; it may be one that nothing collides with.
        within: String,
    },
    /// A coordinate in m, world axes.
    Position {
        /// Of which frame.
        of: Frame,
        /// `x`, `y` or `z`.
        axis: Axis,
    },
    /// A joint's value in rad or m.
    JointValue {
        /// Which.
        joint: String,
    },
    /// A joint's velocity in rad/s or m/s, signed.
    JointSpeed {
        /// Which.
        joint: String,
    },
    /// Least distance of any arm joint to its position limit in rad, negative beyond it.
    JointPositionMargin {
        /// Whose.
        robot: String,
    },
    /// Greatest |velocity| / limit over the arm's joints.
    JointVelocityRatio {
        /// Whose.
        robot: String,
    },
    /// Greatest |torque| / limit over the arm's joints, gravity compensation included.
    JointTorqueRatio {
        /// Whose.
        robot: String,
    },
    /// Angle between the frame's z axis and the world's in rad.
    Tilt {
        /// Of which frame.
        of: Frame,
    },
    /// Least distance to the walls of a box in m: positive inside, negative outside.
    Geofence {
        /// Of which frame.
        of: Frame,
        /// The box's least x, y, z in m, world axes.
        low: [f64; 3],
        /// Its greatest.
        high: [f64; 3],
    },
    /// Number of frames reached so far, in the order of the list.
    Visited {
        /// The moving frame.
        of: Frame,
        /// Where it shall pass.
        frames: Vec<Frame>,
        /// Reached means nearer than this, m.
        radius: f64,
    },
    /// Number of openings crossed so far, in the order of the list. An opening is a rectangle in the y-z plane of its
    /// frame; crossing it means passing through it along the frame's x axis, not against it.
    Crossed {
        /// The moving frame.
        of: Frame,
        /// The middles of the openings.
        frames: Vec<Frame>,
        /// Half the openings' width (along y) and height (along z) in m.
        half_size: [f64; 2],
    },
    /// Number of reversals of another signal within the last `window_s`: from rising to falling or back, by more
    /// than `band` each time.
    Reversals {
        /// The other signal.
        signal: String,
        /// Smaller movements do not count, in its unit.
        band: f64,
        /// A whole number of physics steps, in s.
        window_s: f64,
    },
    /// Rate of change of another signal, in its unit per second; 0 at the first step.
    Rate {
        /// The other signal.
        signal: String,
    },
    /// Seconds that another signal has spent below a value so far.
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

    /// Returns the unit of its values.
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
