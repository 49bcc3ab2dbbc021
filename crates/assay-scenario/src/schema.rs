//! `scenario.toml` as written. Unknown keys are errors everywhere.
//!
//! One file on purpose: it holds declarations only, and with their comments they are the format, from top to bottom.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_model::Level;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::{Actor, Disturbance, Frame, MAX_IMAGE_HZ, Target};

/// The whole file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// The format of the file.
    #[schemars(range(min = 1, max = 1))]
    pub(crate) format: u32,
    /// `a-z`, `0-9`, `_` and `-`; the folder's name.
    pub(crate) id: String,
    /// Of the content; raise it when results could change.
    pub(crate) version: String,
    /// In words.
    pub(crate) name: String,
    /// One sentence.
    pub(crate) description: String,
    /// Handed to the policy.
    pub(crate) instruction: Option<String>,
    #[schemars(range(min = 1, max = 5))]
    pub(crate) difficulty: u8,
    /// What a perfect submission scores.
    #[schemars(range(min = 1))]
    pub(crate) max_score: u32,
    /// Whole simulated seconds.
    #[schemars(range(min = 1, max = 600))]
    pub(crate) time_limit_s: u32,
    /// For searching.
    #[serde(default)]
    pub(crate) tags: Vec<String>,
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

/// Physics and rates.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// MJCF file of the surroundings, in the scenario's folder.
    pub scene: String,
    /// Physics step in seconds, 1e-4 to 0.02.
    pub timestep_s: f64,
    /// Actions per simulated second; a whole number of physics steps lies between two of them.
    pub control_hz: f64,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RobotEntry {
    pub(crate) name: String,
    pub(crate) model: String,
    pub(crate) mount: String,
    #[serde(default)]
    pub(crate) qpos: Vec<f64>,
}

/// How an action becomes motion.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// What the numbers of an action mean.
    pub mode: Mode,
    /// The robot, for modes that move one.
    pub robot: Option<String>,
    /// The actuators, in the order of the action, for [`Mode::Actuator`].
    #[serde(default)]
    pub actuators: Vec<String>,
    /// Control steps by which an action takes effect late. Until the first one does, robots hold their start posture.
    #[serde(default)]
    pub action_latency_steps: u32,
    /// Actions of a policy server's answer that are carried out before it is asked again; all of them where absent. A
    /// request may say otherwise.
    pub replan_steps: Option<u32>,
    /// One entry for each number of the action.
    pub action: Vec<ActionSpec>,
}

/// What the numbers of an action mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Written to named actuators as they are.
    Actuator,
    /// Linear (m/s) and angular (rad/s) velocity of the tool in world axes, then the gripper's opening in [-1, 1].
    EeVelocity,
    /// Position (m) and orientation (quaternion w, x, y, z) of the tool in world axes, then the gripper's opening.
    EePose,
    /// Angle of each arm joint (rad), then the gripper's opening where the robot has one.
    JointPosition,
    /// Velocity of each arm joint (rad/s), then the gripper's opening.
    JointVelocity,
    /// Torque of each arm joint (Nm) on top of gravity compensation, then the gripper's opening.
    JointTorque,
    /// Speed ahead (m/s) and turning speed (rad/s, counter-clockwise) of a base with a differential drive.
    BaseTwist,
    /// Collective thrust (N) and body rates about x, y, z (rad/s) of a multicopter.
    Thrust,
}

impl Mode {
    /// As written in `scenario.toml`.
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
    /// Its name.
    pub name: String,
    /// Least value; smaller ones are clipped and counted.
    pub low: f64,
    /// Greatest value.
    pub high: f64,
    /// Its unit.
    pub unit: String,
}

/// What a parameter is drawn from.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case", untagged)]
pub enum Distribution {
    /// Even over [low, high).
    Uniform {
        /// Low and high.
        uniform: [f64; 2],
    },
    /// Normal, cut to `clip`.
    Normal {
        /// Mean and standard deviation.
        normal: [f64; 2],
        /// Least and greatest value.
        clip: [f64; 2],
    },
    /// One of a list, each as likely.
    Choice {
        /// The list.
        choice: Vec<f64>,
    },
}

/// Bodies put on a surface so that none overlaps another. Draws `BODY.x`, `BODY.y` and, where `yaw` is given,
/// `BODY.yaw` for each.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// The bodies, placed in this order.
    pub bodies: Vec<String>,
    /// Range of x in m, in the parent's frame.
    pub x: [f64; 2],
    /// Range of y in m.
    pub y: [f64; 2],
    /// Height in m; the MJCF's own where absent.
    pub z: Option<f64>,
    /// Range of the turn about z in rad.
    pub yaw: Option<[f64; 2]>,
    /// Least distance between two bodies' origins in m.
    pub spacing: f64,
    /// Circles that stay free.
    #[serde(default)]
    pub avoid: Vec<Avoid>,
}

/// A circle that stays free of placed bodies.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Avoid {
    /// Centre in m.
    pub x: f64,
    /// Centre in m.
    pub y: f64,
    /// Radius in m.
    pub radius: f64,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetEntry {
    pub(crate) target: Target,
    pub(crate) value: Scalar,
}

/// A number, or arithmetic over parameters.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// As written.
    Number(f64),
    /// For example `"0.5 * post_height"`.
    Expression(String),
}

/// A term of the observation.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[schemars(extend("unevaluatedProperties" = false))]
pub struct Observation {
    /// Key in the policy's `observation`.
    pub name: String,
    /// What it measures.
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

/// What a term of the observation measures. All are float64 but images, which are bytes.
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
    /// What a camera sees: bytes of red, green and blue, rows from the top, shape `[224, 224, 3]`. Between two images the
    /// last one is told again. Its name is `images/` and a word.
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
    /// Contact force between two groups in N as an instrument of a stated bandwidth shows it: for each pair of bodies the
    /// size of their force, friction included, summed, and low-pass filtered (two-pole Butterworth).
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
    /// Angle in rad between a frame's z axis and the apparent gravity in it: gravity and the mean acceleration over the last
    /// `window_s` together, as the surface of a liquid feels them.
    ApparentTilt {
        /// Of which frame.
        of: Frame,
        /// A whole number of physics steps, in s.
        window_s: f64,
    },
    /// Mean size of the linear acceleration over the last `window_s` in m/s2: what shakes to and fro adds up here, where a
    /// mean acceleration cancels out.
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
    /// Greatest speed in m/s of the geoms of a group: of both ends of the axis of a capsule or cylinder, of all corners of a
    /// box, of the middle of anything else.
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
    /// How many of the frames have their origin inside a box.
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
    /// How many of a list of frames have been reached, in the order of the list.
    Visited {
        /// What moves.
        of: Frame,
        /// Where it shall pass.
        frames: Vec<Frame>,
        /// Reached means nearer than this, m.
        radius: f64,
    },
    /// How many openings have been crossed, in the order of the list. An opening is a rectangle in the y-z plane of its frame;
    /// crossing it means passing through it along the frame's x axis, not against it.
    Crossed {
        /// What moves.
        of: Frame,
        /// The middles of the openings.
        frames: Vec<Frame>,
        /// Half the openings' width (along y) and height (along z) in m.
        half_size: [f64; 2],
    },
    /// How often another signal has turned round within the last `window_s`: from rising to falling or back, by more than
    /// `band` each time.
    Reversals {
        /// The other signal.
        signal: String,
        /// Smaller movements do not count, in its unit.
        band: f64,
        /// A whole number of physics steps, in s.
        window_s: f64,
    },
    /// How fast another signal grows, in its unit per second; 0 at the first step.
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

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StageEntry {
    pub(crate) name: String,
    pub(crate) points: f64,
    pub(crate) when: String,
    #[serde(default)]
    pub(crate) hold_s: f64,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuccessEntry {
    pub(crate) when: String,
    #[serde(default)]
    pub(crate) hold_s: f64,
    #[serde(default)]
    pub(crate) at: SuccessAt,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SuccessAt {
    #[default]
    Any,
    End,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClauseEntry {
    pub(crate) id: String,
    pub(crate) title: String,
    #[schemars(schema_with = "levels")]
    pub(crate) level: Level,
    #[serde(default = "one")]
    #[schemars(range(max = 1))]
    pub(crate) weight: f64,
    pub(crate) standard: String,
    pub(crate) unit: String,
    pub(crate) limit: f64,
    pub(crate) scale: Option<f64>,
    #[serde(default)]
    pub(crate) terminal: bool,
    #[serde(default)]
    pub(crate) must_activate: bool,
    pub(crate) formula: String,
}

fn levels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ["critical", "warning"] })
}

fn one() -> f64 {
    1.0
}

/// CPU time, memory and size of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// A step over this is counted as a miss, in ms of CPU.
    pub step_cpu_ms: f64,
    /// A step over this ends the episode, in ms of CPU.
    pub hard_cpu_ms: f64,
    /// Allowance of the first call, in ms of CPU.
    pub first_cpu_ms: f64,
    /// The import of `policy.py`, in ms of CPU.
    pub import_cpu_ms: f64,
    /// Address space of the policy's process, interpreter and numpy included, in MiB.
    pub memory_mib: u32,
    /// Largest archive of a policy, in MiB; without it, what the service takes.
    pub archive_mib: Option<u32>,
}

impl Budget {
    /// Least and most memory, in MiB: interpreter and numpy need 160, and a pool's process has no more than 2048.
    pub const MEMORY_MIB: std::ops::RangeInclusive<u32> = 256..=2048;
    /// Least and most of an archive, in MiB: more than 100 a service takes only where its operator said so.
    pub const ARCHIVE_MIB: std::ops::RangeInclusive<u32> = 1..=100;
    /// Largest CPU budget of any kind, in ms.
    pub const MAX_CPU_MS: f64 = 600_000.0;

    /// CPU time, in s, that no policy within its budgets can use in an episode of so many control steps: the kernel's last
    /// word, where nobody else counts any more.
    #[must_use]
    pub fn most_cpu_s(&self, control_steps: u32) -> u64 {
        let later_steps = f64::from(control_steps.saturating_sub(1));
        let ms = self.import_cpu_ms + 2.0 * self.first_cpu_ms + later_steps * self.hard_cpu_ms;
        Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::MAX).as_secs().saturating_add(UNBUDGETED_CPU_S)
    }
}

/// For the interpreter's own start, and for the policy's `close()`, in s of CPU.
const UNBUDGETED_CPU_S: u64 = 5;

impl Default for Budget {
    fn default() -> Self {
        Self {
            step_cpu_ms: 100.0,
            hard_cpu_ms: 1000.0,
            first_cpu_ms: 5000.0,
            import_cpu_ms: 10_000.0,
            memory_mib: 2048,
            archive_mib: None,
        }
    }
}

/// What the arena and the statistics need.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arena {
    /// Violation probability that `confidence` speaks of.
    pub max_violation_probability: f64,
    /// Episodes of a submission.
    pub episodes: u32,
    /// Mean progress of the idle policy: who does not exceed it is not ranked.
    pub idle_progress: f64,
}

impl Default for Arena {
    fn default() -> Self {
        Self { max_violation_probability: 0.10, episodes: 20, idle_progress: 0.0 }
    }
}

/// What the video shows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Camera {
    /// A camera of the scene.
    pub name: String,
}
