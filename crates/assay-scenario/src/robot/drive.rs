//! A differential drive: two driven wheels on one axis.

use schemars::JsonSchema;
use serde::Deserialize;

/// Wheels and the manufacturer's limits of the whole base.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Velocity actuator (rad/s) of the left wheel; its joint has the same name.
    pub left: String,
    /// Velocity actuator of the right wheel.
    pub right: String,
    /// Radius of the wheels in m.
    pub wheel_radius_m: f64,
    /// Distance between the wheels' centres, m.
    pub track_m: f64,
    /// Maximum forward speed, m/s.
    pub forward: f64,
    /// Maximum reverse speed, m/s.
    pub reverse: f64,
    /// Maximum yaw rate, rad/s.
    pub turn: f64,
    /// Maximum acceleration, m/s2.
    pub acceleration: f64,
    /// Deceleration when braking, m/s2; defaults to [`Drive::acceleration`].
    pub deceleration: Option<f64>,
    /// Maximum yaw acceleration, rad/s2.
    pub turn_acceleration: f64,
    /// Maximum speed of a wheel, rad/s; if it is exceeded, both wheels are scaled by the same factor.
    pub wheel_velocity: f64,
}

impl Drive {
    /// Returns the deceleration of the base when braking, m/s2.
    pub fn braking(&self) -> f64 {
        self.deceleration.unwrap_or(self.acceleration)
    }

    pub(super) fn numbers(&self) -> [(&'static str, f64); 9] {
        [
            ("drive.wheel_radius_m", self.wheel_radius_m),
            ("drive.track_m", self.track_m),
            ("drive.forward", self.forward),
            ("drive.reverse", self.reverse),
            ("drive.turn", self.turn),
            ("drive.acceleration", self.acceleration),
            ("drive.deceleration", self.braking()),
            ("drive.turn_acceleration", self.turn_acceleration),
            ("drive.wheel_velocity", self.wheel_velocity),
        ]
    }
}
