//! The machine-readable description of a scenario: spaces, rates, limits and clauses.

use assay_model::frame::{ArraySpec, Dtype};
use assay_model::{ImageCost, Level, Sha256Digest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cameras::declared;
use crate::{Observation, ObservationKind, ObservedCamera, Scenario};

/// A scenario's spaces, rates, limits and clauses.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioSpec")]
pub struct Spec {
    /// Id of the scenario.
    pub id: String,
    /// Version of the content.
    pub version: String,
    /// SHA-256 over all files of the scenario and of its robots.
    pub digest: Sha256Digest,
    /// Ids of the models of its robots, each once; empty if the scenario brings its own bodies.
    pub robots: Vec<String>,
    /// Task in words, as passed to the policy.
    pub instruction: Option<String>,
    /// Control mode, as in `scenario.toml`.
    pub control_mode: &'static str,
    /// Actions per simulated second.
    pub control_hz: f64,
    /// Duration of a physics step in s.
    pub timestep_s: f64,
    /// Time limit of an episode in simulated seconds.
    pub time_limit_s: u32,
    /// Delay of an action's effect in control steps.
    pub action_latency_steps: u32,
    /// Number of values in an action.
    pub action_dim: usize,
    /// Numbers of the action, in order.
    pub action: Vec<ActionNumber>,
    /// Arrays of the observation, in order.
    pub observation: Vec<Array>,
    /// Cameras whose images the policy observes, in the order of their arrays.
    pub cameras: Vec<CameraSpec>,
    /// Cost of the images; `null` without images.
    pub images: Option<ImageCost>,
    /// Stages of the task, with their points.
    pub stages: Vec<StagePoints>,
    /// Safety clauses.
    pub clauses: Vec<ClauseLimit>,
    /// CPU time, memory and archive size of the policy.
    pub budget: BudgetMs,
    /// Limit on the policy's CPU time in an episode that the kernel enforces, in s.
    #[serde(skip)]
    pub episode_cpu_s: u64,
}

/// One number of an action.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ActionNumber {
    /// Name of the number.
    pub name: String,
    /// Minimum value.
    pub low: f64,
    /// Maximum value.
    pub high: f64,
    /// Unit of the number.
    pub unit: String,
}

/// One array of the observation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ObservationArray")]
pub struct Array {
    /// Key in the policy's observation.
    pub name: String,
    /// Numpy data type: `float64`, `uint8` for images, or `float32` for depth images.
    pub dtype: &'static str,
    /// Length of each dimension.
    pub shape: Vec<u32>,
    /// Unit of the array's numbers.
    pub unit: &'static str,
    /// Description for authors of policies.
    pub description: String,
}

/// A camera whose images the policy observes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CameraSpec {
    /// Key of its images in the policy's observation.
    pub image: String,
    /// Key of its depth images; `null` without depth.
    pub depth: Option<String>,
    /// Name of the camera in the world.
    pub camera: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Images per simulated second.
    pub rate_hz: f64,
}

/// A stage of the task.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StagePoints {
    /// Name of the stage.
    pub name: String,
    /// Points for reaching it.
    pub points: f64,
}

/// A safety clause, with its limit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClauseLimit {
    /// Id of the clause.
    pub id: String,
    /// The rule in words.
    pub title: String,
    /// Level of the clause: critical or warning.
    pub level: Level,
    /// Weight in the safety score, in (0, 1].
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub weight: f64,
    /// Source of the limit.
    pub standard: String,
    /// Unit of the limit.
    pub unit: String,
    /// The limit.
    pub limit: f64,
    /// True if a violation ends the episode.
    pub terminal: bool,
    /// Formula in signal temporal logic.
    pub formula: String,
}

/// Limits on the CPU time, memory and archive size of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ScenarioBudget")]
pub struct BudgetMs {
    /// CPU time in ms; a step that exceeds it counts as a deadline miss.
    pub step_cpu_ms: f64,
    /// CPU time in ms; a step that exceeds it ends the episode.
    pub hard_cpu_ms: f64,
    /// CPU time in ms for the start and for the first action, each.
    pub first_cpu_ms: f64,
    /// CPU time in ms for the import of `policy.py`.
    pub import_cpu_ms: f64,
    /// Address space of the policy's process in MiB.
    pub memory_mib: u32,
    /// Maximum size of a policy archive in MiB; `null` if only the service's limit applies.
    pub archive_mib: Option<u32>,
}

impl Scenario {
    /// Returns the machine-readable description.
    #[must_use]
    pub fn spec(&self) -> Spec {
        let action = self.control.action.iter().map(|a| ActionNumber {
            name: a.name.clone(),
            low: a.low,
            high: a.high,
            unit: a.unit.clone(),
        });
        let clause = |c: &crate::Clause| ClauseLimit {
            id: c.id.clone(),
            title: c.title.clone(),
            level: c.level,
            weight: c.weight,
            standard: c.standard.clone(),
            unit: c.unit.clone(),
            limit: c.limit,
            terminal: c.terminal,
            formula: c.formula.to_string(),
        };
        Spec {
            id: self.id.to_string(),
            version: self.version.clone(),
            digest: self.digest,
            robots: self.robot_folders().into_keys().map(str::to_owned).collect(),
            instruction: self.instruction.clone(),
            control_mode: self.control.mode.name(),
            control_hz: self.world.control_hz,
            timestep_s: self.world.timestep_s,
            time_limit_s: self.time_limit_s,
            action_latency_steps: self.control.action_latency_steps,
            action_dim: self.control.action.len(),
            action: action.collect(),
            observation: self.observations.iter().flat_map(|observation| self.arrays(observation)).collect(),
            cameras: self.cameras().into_iter().map(CameraSpec::from).collect(),
            images: self.image_cost(),
            stages: self.stages.iter().map(|s| StagePoints { name: s.name.clone(), points: s.points }).collect(),
            clauses: self.clauses.iter().map(clause).collect(),
            episode_cpu_s: self.budget.most_cpu_s(self.control_steps()),
            budget: BudgetMs {
                step_cpu_ms: self.budget.step_cpu_ms,
                hard_cpu_ms: self.budget.hard_cpu_ms,
                first_cpu_ms: self.budget.first_cpu_ms,
                import_cpu_ms: self.budget.import_cpu_ms,
                memory_mib: self.budget.memory_mib,
                archive_mib: self.budget.archive_mib,
            },
        }
    }

    /// Returns the arrays of an observation: one, and for an image with depth also its depth image.
    fn arrays(&self, observation: &Observation) -> impl Iterator<Item = Array> {
        let array = |spec: ArraySpec, unit, description| Array {
            name: spec.name,
            dtype: match spec.dtype {
                Dtype::F64 => "float64",
                Dtype::F32 => "float32",
                Dtype::U8 => "uint8",
            },
            shape: spec.shape,
            unit,
            description,
        };
        let (own, depth) = self.array_specs(observation);
        let along = |spec: &ArraySpec| {
            format!("Distance of what {} shows, along the optical axis; 0 where there is nothing.", spec.name)
        };
        let described = along(&own);
        let own = array(own, self.unit(observation), observation.description.clone());
        std::iter::once(own).chain(depth.map(|depth| array(depth, "m", described)))
    }

    /// Returns the array of an observation on the wire and, for an image with depth, that of its depth image.
    #[must_use]
    pub fn array_specs(&self, observation: &Observation) -> (ArraySpec, Option<ArraySpec>) {
        let camera = declared(&observation.name, &observation.kind, self.world.control_hz);
        let dtype = if camera.is_some() { Dtype::U8 } else { Dtype::F64 };
        let own = ArraySpec { name: observation.name.clone(), dtype, shape: self.shape(observation) };
        let depth = |camera: ObservedCamera| ArraySpec {
            name: camera.depth_key(),
            dtype: Dtype::F32,
            shape: vec![camera.height, camera.width],
        };
        (own, camera.filter(|camera| camera.depth).map(depth))
    }

    /// Returns the shape of an observation's array.
    fn shape(&self, observation: &Observation) -> Vec<u32> {
        let count = |n: usize| vec![u32::try_from(n).unwrap_or(u32::MAX)];
        let arm = |name: &str| self.robot(name).map_or(0, |robot| robot.model.joints.len());
        match &observation.kind {
            ObservationKind::JointPosition { robot, joints } | ObservationKind::JointVelocity { robot, joints } => {
                count(robot.as_ref().map_or(joints.len(), |name| arm(name)))
            }
            ObservationKind::GripperWidth { .. } | ObservationKind::Signal { .. } => vec![1],
            ObservationKind::Position { .. }
            | ObservationKind::LinearVelocity { .. }
            | ObservationKind::RelativePosition { .. }
            | ObservationKind::Size { .. }
            | ObservationKind::BodyRates { .. } => vec![3],
            ObservationKind::Orientation { .. } => vec![4],
            ObservationKind::Ranges { robot, lidar } => {
                let find = |robot: &crate::Robot| robot.model.lidar.iter().find(|l| l.name == *lidar).map(|l| l.rays);
                vec![self.robot(robot).and_then(find).unwrap_or(0)]
            }
            ObservationKind::Image { width, height, .. } => vec![*height, *width, 3],
            ObservationKind::LastAction {} => count(self.control.action.len()),
        }
    }

    fn unit(&self, observation: &Observation) -> &'static str {
        match &observation.kind {
            ObservationKind::JointPosition { robot: Some(_), .. } => "rad",
            ObservationKind::JointVelocity { robot: Some(_), .. } => "rad/s",
            ObservationKind::JointPosition { .. } => "rad or m",
            ObservationKind::JointVelocity { .. } => "rad/s or m/s",
            ObservationKind::GripperWidth { .. }
            | ObservationKind::Position { .. }
            | ObservationKind::RelativePosition { .. }
            | ObservationKind::Ranges { .. }
            | ObservationKind::Size { .. } => "m",
            ObservationKind::Orientation { .. } => "quaternion w, x, y, z",
            ObservationKind::LinearVelocity { .. } => "m/s",
            ObservationKind::BodyRates { .. } => "rad/s",
            ObservationKind::Image { .. } => "0 to 255",
            ObservationKind::LastAction {} => "as the action",
            ObservationKind::Signal { signal } => {
                self.signals.iter().find(|(name, _)| name == signal).map_or("1", |(_, signal)| signal.unit())
            }
        }
    }
}

impl From<ObservedCamera> for CameraSpec {
    fn from(camera: ObservedCamera) -> Self {
        Self {
            image: camera.image_key(),
            depth: camera.depth.then(|| camera.depth_key()),
            width: camera.width,
            height: camera.height,
            rate_hz: camera.rate_hz,
            camera: camera.camera,
        }
    }
}
