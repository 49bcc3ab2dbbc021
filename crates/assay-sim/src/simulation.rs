//! The physics of an episode.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use assay_model::Generator;
use assay_model::frame::ArraySpec;
use assay_scenario::{Draw, Scenario, draw};
use mujoco_rs::prelude::*;

use crate::actors::Actors;
use crate::control::Controller;
use crate::error::{Unstable, WorldError};
use crate::handle::{self, RobotIds};
use crate::observe::{Cameras, ObservedArray, Sources, Term, add_noise};
use crate::opengl::RenderError;
use crate::push::Pushes;
use crate::randomise::{self, StartValue};
use crate::signal::{Extractor, Groups, StepState};
use crate::trace_hash::TraceHash;

/// The state that determines the rest of the simulation.
const INTEGRATION: u32 = MjtState::mjSTATE_INTEGRATION as u32;

/// Largest coordinate, velocity or acceleration that MuJoCo considers stable.
const MAX_STABLE: f64 = 1e10;

/// Combined with the world's seed to obtain the seed of the observation noise.
const NOISE: u64 = 0x6e6f_6973_6500_0001;

/// Warnings that invalidate an episode; the first three concern positions, velocities and accelerations.
const FATAL_WARNINGS: [(MjtWarning, &str, &str); 5] = [
    (MjtWarning::mjWARN_BADQPOS, "BADQPOS (unstable position)", "coordinate"),
    (MjtWarning::mjWARN_BADQVEL, "BADQVEL (unstable velocity)", "degree of freedom"),
    (MjtWarning::mjWARN_BADQACC, "BADQACC (unstable acceleration)", "degree of freedom"),
    (MjtWarning::mjWARN_CONTACTFULL, "CONTACTFULL (too many contacts)", "contact"),
    (MjtWarning::mjWARN_CNSTRFULL, "CNSTRFULL (too many constraints)", "constraint"),
];

/// A running world.
pub struct Simulation {
    scenario: Arc<Scenario>,
    data: MjData<Box<MjModel>>,
    draw: Draw,
    controller: Controller,
    actors: Actors,
    groups: Groups,
    extractors: Vec<Extractor>,
    arrays: Vec<ObservedArray>,
    cameras: Cameras,
    pushes: Pushes,
    /// Noise of the observation, separate from the draws, so that the number of observations does not affect the world.
    noise: Generator,
    /// Signals of the last step, `time` first.
    sample: Vec<f64>,
    last_action: Vec<f64>,
    qpos: Vec<f64>,
    qvel: Vec<f64>,
    state: Vec<f64>,
    substep: u32,
}

impl std::fmt::Debug for Simulation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simulation")
            .field("scenario", &self.scenario.id)
            .field("time", &self.data.time())
            .finish_non_exhaustive()
    }
}

impl Simulation {
    pub(crate) fn new(scenario: Arc<Scenario>, mut model: Box<MjModel>, seed: u64) -> Result<Self, WorldError> {
        let draw = draw(&scenario, &mut Generator::new(seed))?;
        let start = randomise::apply(&mut model, &draw.settings)?;
        let robots = scenario.robots.iter().map(|r| handle::robot(&model, r)).collect::<Result<Vec<_>, _>>()?;
        let groups = Groups::resolve(&model, &scenario)?;
        let extractor = |signal| Extractor::resolve(&model, &scenario, &robots, &groups, signal);
        let extractors = scenario.signals.iter().map(extractor).collect::<Result<Vec<_>, _>>()?;
        let controller = Controller::resolve(&model, &scenario, &robots)?;
        let actors = Actors::resolve(&model, &scenario, &groups, &draw.tracks)?;
        let arrays = Term::resolve_all(&model, &scenario, &robots)?;
        let cameras = Cameras::resolve(&model, &scenario)?;
        let pushes = Pushes::resolve(&model, &draw.pushes)?;
        if let Some(camera) = &scenario.camera {
            handle::camera(&model, &camera.name, "camera.name")?;
        }
        let mut data = MjData::new(model);
        data.set_const();
        data.reset();
        place(&mut data, &scenario, &robots, &start);
        actors.place(&mut data, 0.0);
        data.forward();
        let mut simulation = Self {
            sample: vec![0.0; extractors.len() + 1],
            last_action: vec![0.0; scenario.control.action.len()],
            qpos: data.qpos().to_vec(),
            qvel: data.qvel().to_vec(),
            state: data.state(INTEGRATION).into_vec(),
            scenario,
            data,
            draw,
            controller,
            actors,
            groups,
            extractors,
            arrays,
            cameras,
            pushes,
            noise: Generator::new(seed ^ NOISE),
            substep: 0,
        };
        simulation.check().and_then(|()| simulation.check_start()).map_err(WorldError::UnstableStart)?;
        simulation.measure();
        Ok(simulation)
    }

    /// Returns the episode's draw.
    #[must_use]
    pub fn draw(&self) -> &Draw {
        &self.draw
    }

    /// Returns the arrays of an observation, in wire order.
    #[must_use]
    pub fn observation_spec(&self) -> Vec<ArraySpec> {
        self.arrays.iter().map(|array| array.spec.clone()).collect()
    }

    /// Returns the simulated time in s.
    #[must_use]
    pub fn time_s(&self) -> f64 {
        self.data.time()
    }

    /// Returns the positions (rad, m) of all coordinates at the start of the last step.
    #[must_use]
    pub fn qpos(&self) -> &[f64] {
        &self.qpos
    }

    /// Returns the velocities (rad/s, m/s) at the start of the last step.
    #[must_use]
    pub fn qvel(&self) -> &[f64] {
        &self.qvel
    }

    /// Returns the signals of the last step, `time` first.
    #[must_use]
    pub fn sample(&self) -> &[f64] {
        &self.sample
    }

    /// Computes the positions and velocities of bodies for the current state, which observations and controllers use.
    /// Must precede [`Self::act`], unless [`Self::observe`] does.
    pub fn refresh(&mut self) {
        let now_s = self.data.time();
        self.actors.place(&mut self.data, now_s);
        self.data.kinematics();
        self.data.com_pos();
        self.data.com_vel();
    }

    /// Appends the observation's arrays: raw little-endian doubles, images as bytes, depth images as
    /// little-endian single-precision numbers. Updates the kinematics first, so
    /// that positions belong to the current time and not to the start of the last physics step.
    ///
    /// # Errors
    /// [`RenderError`] if an image is due and cannot be rendered; a scenario without images needs no OpenGL.
    pub fn observe(&mut self, out: &mut Vec<u8>) -> Result<(), RenderError> {
        self.refresh();
        self.cameras.render_due(&mut self.data)?;
        let Self { data, sample, last_action, cameras, .. } = self;
        let mut from = Sources { data, sample, last_action, cameras };
        for array in &self.arrays {
            let start = out.len();
            array.term.write(&mut from, out);
            if array.noise > 0.0 {
                add_noise(&mut out[start..], array.noise, &mut self.noise);
            }
        }
        Ok(())
    }

    /// Returns the images of the observation, in the scenario's order: the number of images that each camera has
    /// rendered so far, and the last one as RGB rows from the top (empty before the first [`Self::observe`]).
    pub fn images(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.cameras.images()
    }

    /// Starts a control step with `action`, in the scenario's units. Numbers out of range are clipped; returns true if
    /// any was. The caller has checked length and finiteness.
    pub fn act(&mut self, action: &[f64]) -> bool {
        let mut clipped = false;
        for ((slot, value), spec) in self.last_action.iter_mut().zip(action).zip(&self.scenario.control.action) {
            *slot = value.clamp(spec.low, spec.high);
            clipped |= *slot != *value;
        }
        self.controller.act(&mut self.data, &self.last_action);
        self.substep = 0;
        clipped
    }

    /// Runs one physics step. Afterwards [`Self::sample`] contains the signals of its start.
    ///
    /// # Errors
    /// [`Unstable`] if MuJoCo warned; the sample is then still that of the step's start.
    pub fn step(&mut self) -> Result<(), Unstable> {
        let outcome = self.advance();
        self.measure();
        outcome
    }

    /// Runs only the physics of [`Self::step`]; [`Self::measure`] must follow.
    ///
    /// # Errors
    /// [`Unstable`] if MuJoCo warned.
    pub fn advance(&mut self) -> Result<(), Unstable> {
        self.substep += 1;
        let elapsed_s = f64::from(self.substep) * self.scenario.world.timestep_s;
        self.controller.before_step(&mut self.data, elapsed_s);
        self.pushes.apply(&mut self.data);
        let now_s = self.data.time();
        self.actors.place(&mut self.data, now_s);
        self.sample[0] = self.data.time();
        self.step_data()
    }

    /// Runs only MuJoCo's step, which leaves the state of its start in [`Self::qpos`] and [`Self::qvel`].
    pub(crate) fn step_data(&mut self) -> Result<(), Unstable> {
        self.qpos.copy_from_slice(self.data.qpos());
        self.qvel.copy_from_slice(self.data.qvel());
        self.data.step();
        self.actors.update_pauses(&mut self.data, self.scenario.world.timestep_s);
        self.check()
    }

    /// Computes the signals of the step made by [`Self::advance`], at its start.
    pub fn measure(&mut self) {
        let mut step = StepState {
            data: &mut self.data,
            groups: &self.groups,
            qpos: &self.qpos,
            qvel: &self.qvel,
            action: &self.last_action,
            time_s: self.sample[0],
        };
        Extractor::measure_all(&mut self.extractors, &mut step, &mut self.sample);
    }

    /// Returns a number for the bodies or the joint that determined each signal of the last sample, in their order
    /// (without `time`). [`Self::involved_names`] decodes it.
    pub fn involved(&self) -> impl Iterator<Item = u32> {
        self.extractors.iter().map(Extractor::involved)
    }

    /// Returns the names behind a number of [`Self::involved`] for signal `index` (from 0, without `time`): of one or
    /// two bodies, or of a joint; empty if none determined its value.
    #[must_use]
    pub fn involved_names(&self, index: usize, involved: u32) -> Vec<String> {
        self.extractors
            .get(index)
            .map_or_else(Vec::new, |extractor| extractor.involved_names(self.data.model(), involved))
    }

    /// Returns the action of the current control step, clipped.
    #[must_use]
    pub fn action(&self) -> &[f64] {
        &self.last_action
    }

    /// Returns the hash chain at the episode's start.
    pub fn start_hash(&mut self) -> TraceHash {
        let draws: Vec<f64> = self.draw.parameters.iter().map(|(_, value)| *value).collect();
        TraceHash::start(self.integration_state(), &draws)
    }

    /// Returns MuJoCo's integration state, which determines the rest of the simulation.
    pub fn integration_state(&mut self) -> &[f64] {
        self.data.read_state_into(INTEGRATION, &mut self.state);
        &self.state
    }

    /// Returns the name of the scenario's camera.
    pub(crate) fn camera(&self) -> Option<String> {
        self.scenario.camera.as_ref().map(|camera| camera.name.clone())
    }

    /// Returns the names of the robots, which are the prefixes `NAME/` of their bodies.
    pub(crate) fn robot_names(&self) -> impl Iterator<Item = &str> {
        self.scenario.robots.iter().map(|robot| robot.name.as_str())
    }

    pub(crate) fn model(&self) -> &MjModel {
        self.data.model()
    }

    pub(crate) fn data(&self) -> &MjData<Box<MjModel>> {
        &self.data
    }

    pub(crate) fn data_mut(&mut self) -> &mut MjData<Box<MjModel>> {
        &mut self.data
    }

    /// Checks the start state, because MuJoCo detects invalid states only when it steps.
    fn check_start(&self) -> Result<(), Unstable> {
        let vectors = [self.data.qpos(), self.data.qvel(), self.data.qacc()];
        for (vector, (_, kind, what)) in vectors.into_iter().zip(FATAL_WARNINGS) {
            if let Some(index) = vector.iter().position(|x| x.is_nan() || x.abs() > MAX_STABLE) {
                return Err(Unstable { kind, what, index: i32::try_from(index).unwrap_or(i32::MAX) });
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Unstable> {
        let warnings = self.data.warning();
        for (warning, kind, what) in FATAL_WARNINGS {
            let stat = &warnings[warning as usize];
            if stat.number > 0 {
                return Err(Unstable { kind, what, index: stat.lastinfo });
            }
        }
        Ok(())
    }
}

/// Sets the start posture of the robots (grippers open, servos at rest), then the drawn start values.
fn place(data: &mut MjData<Box<MjModel>>, scenario: &Scenario, robots: &[RobotIds], start: &[StartValue]) {
    for (robot, ids) in scenario.robots.iter().zip(robots) {
        for (i, q) in robot.qpos.iter().enumerate() {
            data.qpos_mut()[ids.qpos[i]] = *q;
            data.ctrl_mut()[ids.actuators[i]] = *q;
        }
        if let Some((actuator, fingers, open_m)) = &ids.gripper {
            fingers.iter().for_each(|finger| data.qpos_mut()[*finger] = *open_m);
            data.ctrl_mut()[*actuator] = *open_m;
        }
    }
    for value in start {
        match value {
            StartValue::Position(index, value) => data.qpos_mut()[*index] = *value,
            StartValue::Velocity(index, value) => data.qvel_mut()[*index] = *value,
        }
    }
}
