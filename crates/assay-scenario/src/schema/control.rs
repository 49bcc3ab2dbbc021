//! `[control]`: the meaning of an action and its effect on the robot.

use schemars::JsonSchema;
use serde::Deserialize;

/// The control mode, which converts actions to motion.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Meaning of the numbers of an action.
    pub mode: Mode,
    /// The robot, for modes that move one.
    pub robot: Option<String>,
    /// The actuators, in the order of the action, for [`Mode::Actuator`].
    #[serde(default)]
    pub actuators: Vec<String>,
    /// Delay of an action's effect in control steps. Until the first action takes effect, robots hold their initial
    /// posture.
    #[serde(default)]
    pub action_latency_steps: u32,
    /// Number of actions in a policy server's answer that are executed before the next request; by default all. A
    /// request can override it.
    pub replan_steps: Option<u32>,
    /// One entry for each number of the action.
    pub action: Vec<ActionSpec>,
}

/// Meaning of the numbers of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Written directly to named actuators.
    Actuator,
    /// Linear (m/s) and angular (rad/s) velocity of the tool in world axes, then the gripper's opening in [-1, 1].
    EeVelocity,
    /// Position (m) and orientation (quaternion w, x, y, z) of the tool in world axes, then the gripper's opening.
    EePose,
    /// Angle of each arm joint (rad), then the gripper's opening if the robot has one.
    JointPosition,
    /// Velocity of each arm joint (rad/s), then the gripper's opening.
    JointVelocity,
    /// Torque of each arm joint (Nm) on top of gravity compensation, then the gripper's opening.
    JointTorque,
    /// Forward speed (m/s) and yaw rate (rad/s, counter-clockwise) of a base with a differential drive.
    BaseTwist,
    /// Collective thrust (N) and body rates about x, y, z (rad/s) of a multicopter.
    Thrust,
}

impl Mode {
    /// Returns the name as written in `scenario.toml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Actuator => "actuator",
            Self::EeVelocity => "ee_velocity",
            Self::EePose => "ee_pose",
            Self::JointPosition => "joint_position",
            Self::JointVelocity => "joint_velocity",
            Self::JointTorque => "joint_torque",
            Self::BaseTwist => "base_twist",
            Self::Thrust => "thrust",
        }
    }
}

/// One number of an action.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionSpec {
    /// Name of the number.
    pub name: String,
    /// Minimum; smaller values are clipped and counted.
    pub low: f64,
    /// Maximum; larger values are clipped and counted.
    pub high: f64,
    /// Unit of the number.
    pub unit: String,
}
