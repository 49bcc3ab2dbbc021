//! `robot.toml`: a robot's names, limits and gains, in addition to its MJCF.

mod drive;
mod lidar;
mod rotors;

use schemars::JsonSchema;
use serde::Deserialize;

pub use drive::Drive;
pub use lidar::Lidar;
pub use rotors::Rotors;

/// A robot that scenarios can mount.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RobotModel {
    /// Format of the file, [`crate::FORMAT`].
    pub format: u32,
    /// Id, which is the name of the folder.
    pub id: String,
    /// Display name.
    pub name: String,
    /// MJCF file beside `robot.toml`.
    pub model: String,
    /// Sources of the figures.
    pub sources: Vec<String>,
    /// The arm's joints, base first, without prefix; each is driven by an actuator of the same name. Empty without an
    /// arm.
    #[serde(default)]
    pub joints: Vec<String>,
    /// Site at the tool centre point; for a robot without an arm, its reference point.
    pub tcp: String,
    /// Gripper, if the robot has one.
    pub gripper: Option<Gripper>,
    /// The manufacturer's limits.
    #[serde(default)]
    pub limits: Limits,
    /// Gains of the joint actuators in the MJCF.
    #[serde(default)]
    pub servo: Servo,
    /// Inverse kinematics.
    #[serde(default)]
    pub ik: Ik,
    /// Driven wheels, if the robot has any.
    pub drive: Option<Drive>,
    /// Rotors, if the robot flies.
    pub rotors: Option<Rotors>,
    /// Laser scanners.
    #[serde(default)]
    pub lidar: Vec<Lidar>,
}

/// A parallel gripper.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gripper {
    /// Actuator of the gripper, which takes the target of one finger in m.
    pub actuator: String,
    /// Finger joints, which are slide joints in m.
    pub joints: Vec<String>,
    /// Travel of one finger in m.
    pub open_m: f64,
    /// Maximum speed of one finger, in m/s; limited only by the actuator if absent.
    #[serde(default)]
    pub speed_m_per_s: Option<f64>,
}

impl Gripper {
    /// Returns the settings that must be positive.
    fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> + use<> {
        let speed = self.speed_m_per_s.map(|speed| ("gripper.speed_m_per_s", speed));
        [("gripper.open_m", self.open_m)].into_iter().chain(speed)
    }
}

/// The manufacturer's limits, one number per arm joint.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Lower position limit in rad.
    pub position_low: Vec<f64>,
    /// Upper position limit in rad.
    pub position_high: Vec<f64>,
    /// Velocity in rad/s.
    pub velocity: Vec<f64>,
    /// Acceleration in rad/s2.
    pub acceleration: Vec<f64>,
    /// Torque in Nm.
    pub torque: Vec<f64>,
}

/// Joint servos: `torque = kp (ctrl - q) - kd qd`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Servo {
    /// Proportional gain in Nm/rad.
    pub kp: Vec<f64>,
    /// Damping in Nm s/rad.
    pub kd: Vec<f64>,
}

/// Damped least squares inverse kinematics.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ik {
    /// Damping at a singularity.
    pub damping: f64,
    /// Manipulability below which the damping is applied.
    pub manipulability_threshold: f64,
    /// Pull towards the start posture in the null space, 1/s per arm joint. A pull on a single joint settles a
    /// redundant arm's free motion; a pull on several makes them compete.
    pub nullspace_gain: Vec<f64>,
    /// Maximum distance by which the reference leads a blocked joint, rad.
    pub leash_rad: f64,
    /// Fraction of the manufacturer's velocity and acceleration limits that is used, in (0, 1].
    pub velocity_share: f64,
}

impl Default for Ik {
    /// Returns the values for robots without an arm, which are unused.
    fn default() -> Self {
        let nullspace_gain = Vec::new();
        Self { damping: 0.05, manipulability_threshold: 0.02, nullspace_gain, leash_rad: 0.05, velocity_share: 1.0 }
    }
}

impl RobotModel {
    /// Checks that every list has one number per joint and that the numbers are valid.
    pub(crate) fn validate(&self) -> Result<(), (String, String)> {
        let n = self.joints.len();
        let lists = [
            ("limits.position_low", &self.limits.position_low),
            ("limits.position_high", &self.limits.position_high),
            ("limits.velocity", &self.limits.velocity),
            ("limits.acceleration", &self.limits.acceleration),
            ("limits.torque", &self.limits.torque),
            ("servo.kp", &self.servo.kp),
            ("servo.kd", &self.servo.kd),
            ("ik.nullspace_gain", &self.ik.nullspace_gain),
        ];
        for (key, list) in lists {
            if list.len() != n || list.iter().any(|x| !x.is_finite()) {
                return Err((key.to_owned(), format!("needs {n} finite numbers, one per joint")));
            }
        }
        // Positions may be negative and null-space gains zero; the five lists in between must be positive.
        for (key, list) in &lists[2..7] {
            if list.iter().any(|x| *x <= 0.0) {
                return Err(((*key).to_owned(), "must be positive".to_owned()));
            }
        }
        if self.limits.position_low.iter().zip(&self.limits.position_high).any(|(low, high)| low >= high) {
            return Err(("limits.position_low".to_owned(), "must lie below position_high".to_owned()));
        }
        if !(self.ik.velocity_share > 0.0 && self.ik.velocity_share <= 1.0) {
            return Err(("ik.velocity_share".to_owned(), "must lie in (0, 1]".to_owned()));
        }
        if let Some(rotors) = &self.rotors {
            rotors.validate()?;
        }
        self.lidar.iter().enumerate().try_for_each(|(i, lidar)| lidar.validate(i))?;
        let drive = self.drive.iter().flat_map(Drive::numbers);
        let rotors = self.rotors.iter().flat_map(Rotors::numbers);
        let gripper = self.gripper.iter().flat_map(Gripper::numbers);
        let positive = [
            ("ik.damping", self.ik.damping),
            ("ik.manipulability_threshold", self.ik.manipulability_threshold),
            ("ik.leash_rad", self.ik.leash_rad),
        ];
        for (key, number) in positive.into_iter().chain(gripper).chain(drive).chain(rotors) {
            if !(number.is_finite() && number > 0.0) {
                return Err((key.to_owned(), "must be a positive number".to_owned()));
            }
        }
        Ok(())
    }
}
