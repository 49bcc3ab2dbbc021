//! A differential drive: two driven wheels on one axis.

use schemars::JsonSchema;
use serde::Deserialize;

/// Wheels and the vendor's limits of the whole base.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Velocity actuator (rad/s) of the left wheel; its joint has the same name.
    pub left: String,
    /// Velocity actuator of the right wheel.
    pub right: String,
    /// m.
    pub wheel_radius_m: f64,
    /// Distance between the wheels' middles, m.
    pub track_m: f64,
    /// Greatest speed ahead, m/s.
    pub forward: f64,
    /// Greatest speed backwards, m/s.
    pub reverse: f64,
    /// Greatest turning speed, rad/s.
    pub turn: f64,
    /// Greatest change of speed, m/s2.
    pub acceleration: f64,
    /// Greatest loss of speed, m/s2: what the base brakes with. [`Drive::acceleration`] where it is not given.
    pub deceleration: Option<f64>,
    /// Greatest change of turning speed, rad/s2.
    pub turn_acceleration: f64,
    /// Greatest speed of a wheel, rad/s; both are slowed alike to keep to it.
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
