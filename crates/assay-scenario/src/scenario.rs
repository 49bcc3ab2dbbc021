//! A loaded scenario, from which episodes are built.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_model::lane::{LaneClause, LaneScenario};
use assay_model::{Harm, Level, ScenarioCard, ScenarioId, Sha256Digest};
use assay_stl::{BoundFormula, Formula};

use crate::whole::whole;
use crate::{
    Actor, Arena, Budget, Camera, Control, Distribution, Disturbance, Observation, ObservationKind, Placement,
    RobotModel, Scalar, Signal, Target, World,
};

/// A scenario that has been checked for consistency.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Id, unique in a library.
    pub id: ScenarioId,
    /// Version of the content.
    pub version: String,
    /// Display name.
    pub name: String,
    /// Description in one sentence.
    pub description: String,
    /// Content of `README.md`, the detailed description for authors of policies.
    pub long_description: String,
    /// The task that the policy receives, in words.
    pub instruction: Option<String>,
    /// Difficulty, from 1 (easy) to 5 (hard).
    pub difficulty: u8,
    /// Score of a perfect submission.
    pub max_score: u32,
    /// Time limit of an episode in simulated seconds, an integer.
    pub time_limit_s: u32,
    /// Keywords for searching.
    pub tags: Vec<String>,
    /// Version of the profile with which the policy's images are drawn, one of [`crate::RENDER_PROFILES`].
    pub render_profile: u32,
    /// Physics and rates.
    pub world: World,
    /// Robots and their mounts.
    pub robots: Vec<Robot>,
    /// Named globs over geoms and bodies.
    pub groups: BTreeMap<String, Vec<String>>,
    /// The control mode and its actions.
    pub control: Control,
    /// Parameters drawn for each episode, in order.
    pub parameters: Vec<(String, Distribution)>,
    /// Bodies placed without overlap.
    pub placements: Vec<Placement>,
    /// Settings computed from the draws.
    pub sets: Vec<(Target, Scalar)>,
    /// Disturbances of the world during an episode.
    pub disturbances: Vec<Disturbance>,
    /// Bodies that move by themselves.
    pub actors: Vec<Actor>,
    /// Terms of the observation, in wire order.
    pub observations: Vec<Observation>,
    /// Signals by name, without the implicit `time`.
    pub signals: Vec<(String, Signal)>,
    /// Stages of the task.
    pub stages: Vec<Stage>,
    /// Success condition of the task.
    pub success: Success,
    /// The safety clauses.
    pub clauses: Vec<Clause>,
    /// CPU time, memory and size of the policy.
    pub budget: Budget,
    /// Settings of arena and statistics.
    pub arena: Arena,
    /// Camera of the video.
    pub camera: Option<Camera>,
    /// SHA-256 over the scenario's and its robots' files.
    pub digest: Sha256Digest,
    /// The folder from which it was read.
    pub folder: PathBuf,
    /// The folder that contains its robots' folders.
    pub robots_folder: PathBuf,
}

/// A robot in the world.
#[derive(Debug, Clone)]
pub struct Robot {
    /// Name, used as prefix `NAME/` of all its MJCF names.
    pub name: String,
    /// Site of the scene to which it is attached.
    pub mount: String,
    /// Initial joint positions in rad, one per arm joint.
    pub qpos: Vec<f64>,
    /// The robot model.
    pub model: RobotModel,
    /// Folder of the model.
    pub folder: PathBuf,
}

/// A part of the task.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Name of the stage.
    pub name: String,
    /// Points for reaching it.
    pub points: f64,
    /// The condition over signals (no temporal operators).
    pub when: BoundFormula,
    /// Time for which the condition must hold, in s.
    pub hold_s: f64,
}

/// Success condition of the task.
#[derive(Debug, Clone)]
pub struct Success {
    /// The condition over signals.
    pub when: BoundFormula,
    /// Time for which the condition must hold, in s.
    pub hold_s: f64,
    /// True if success is evaluated only at the time limit; otherwise the first success ends the episode.
    pub at_end: bool,
}

/// A safety clause.
#[derive(Debug, Clone)]
pub struct Clause {
    /// Id of the clause.
    pub id: String,
    /// The rule in words.
    pub title: String,
    /// Level of the clause.
    pub level: Level,
    /// Harm that the clause guards against.
    pub harm: Harm,
    /// Weight in the safety score, (0, 1].
    pub weight: f64,
    /// Source of the limit.
    pub standard: String,
    /// Unit of limit and robustness.
    pub unit: String,
    /// The limit.
    pub limit: f64,
    /// A robustness of -scale is the most severe violation.
    pub scale: f64,
    /// Bounds on the margin that follow from the ranges of the signals.
    pub margin_range: (f64, f64),
    /// True if a violation ends the episode.
    pub terminal: bool,
    /// True if the clause is `not_applicable` when its premise never becomes true.
    pub must_activate: bool,
    /// The formula as written, with `limit` replaced by its number.
    pub formula: Formula,
    /// The formula bound to [`Scenario::signal_names`] at the physics rate.
    pub bound: BoundFormula,
}

impl Clause {
    /// Returns the greatest possible margin; `None` if it is unlimited.
    #[must_use]
    pub fn best_margin(&self) -> Option<f64> {
        Some(self.margin_range.1).filter(|margin| margin.is_finite())
    }
}

impl Scenario {
    /// Returns the folders of robot models, which the digest also covers, by the model's id.
    #[must_use]
    pub fn robot_folders(&self) -> BTreeMap<&str, &Path> {
        robot_folders(&self.robots)
    }

    /// Returns the description for clients.
    #[must_use]
    pub fn card(&self) -> ScenarioCard {
        ScenarioCard {
            id: self.id.clone(),
            name: self.name.clone(),
            description: self.description.clone(),
            difficulty: self.difficulty,
            time_limit: self.time_limit_s,
            max_score: self.max_score,
            long_description: self.description_for_people(),
            version: self.version.clone(),
            digest: self.digest,
            max_violation_probability: self.arena.max_violation_probability,
            arena_episodes: self.arena.episodes,
            idle_progress: self.arena.idle_progress,
            replan_steps: self.control.replan_steps,
            archive_mib: self.budget.archive_mib,
            render_profile: self.has_images().then_some(self.render_profile),
            drawn_ranges: Some(self.drawn_ranges()),
        }
    }

    /// Returns the part of the scenario that a lane must have read alike.
    #[must_use]
    pub fn for_lanes(&self) -> LaneScenario {
        let clause = |clause: &Clause| LaneClause {
            id: clause.id.clone(),
            level: clause.level,
            formula: clause.formula.to_string(),
            limit: clause.limit,
            scale: clause.scale,
            unit: clause.unit.clone(),
            standard: clause.standard.clone(),
        };
        LaneScenario { digest: self.digest, clauses: self.clauses.iter().map(clause).collect() }
    }

    /// Returns the names of the sample's columns: `time`, then the signals in order.
    #[must_use]
    pub fn signal_names(&self) -> Vec<&str> {
        std::iter::once("time").chain(self.signals.iter().map(|(name, _)| name.as_str())).collect()
    }

    /// Returns the number of physics steps between two actions.
    #[must_use]
    pub fn decimation(&self) -> u32 {
        whole(1.0 / (self.world.control_hz * self.world.timestep_s)).unwrap_or(1)
    }

    /// Returns the number of control steps of a complete episode.
    #[must_use]
    pub fn control_steps(&self) -> u32 {
        whole(f64::from(self.time_limit_s) * self.world.control_hz).unwrap_or(1)
    }

    /// Returns whether the observation contains images, which require OpenGL.
    #[must_use]
    pub fn has_images(&self) -> bool {
        self.observations.iter().any(|observation| matches!(observation.kind, ObservationKind::Image { .. }))
    }

    /// Returns the robot of that name.
    #[must_use]
    pub fn robot(&self, name: &str) -> Option<&Robot> {
        self.robots.iter().find(|robot| robot.name == name)
    }
}

/// Returns the folder of each robot model, by its id.
pub(crate) fn robot_folders(robots: &[Robot]) -> BTreeMap<&str, &Path> {
    robots.iter().map(|robot| (robot.model.id.as_str(), robot.folder.as_path())).collect()
}
