//! Compilation of a world from the scene, the robots on their mounts, and assay's options.

use std::path::Path;
use std::sync::Arc;

use assay_scenario::{DEFAULT_IMAGE_SIDE, Mode, ObservedCamera, Robot, Scenario};
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::present::bowls;
use crate::present::look::{self, Quality};
use crate::render_profile::RenderProfile;
use crate::{Simulation, guard};

/// Bit of MuJoCo's `disableflags` that stops it from silently resetting an unstable simulation.
const DISABLE_AUTORESET: i32 = MjtDisableBit::mjDSBL_AUTORESET as i32;

/// A compiled scenario, from which episodes are created.
#[derive(Debug)]
pub struct CompiledScenario {
    scenario: Arc<Scenario>,
    model: MjModel,
}

impl CompiledScenario {
    /// Compiles the scenario's MJCF with its robots for simulation. The policy's camera images are rendered from it
    /// with the scenario's render profile.
    ///
    /// # Errors
    /// [`WorldError`] names the file or key at fault.
    pub fn build(scenario: Arc<Scenario>) -> Result<Self, WorldError> {
        let mut world = Self::compile(scenario, false)?;
        let cameras = world.scenario.cameras();
        let largest = |side: fn(&ObservedCamera) -> u32| cameras.iter().map(side).max().unwrap_or(DEFAULT_IMAGE_SIDE);
        let size = (largest(|camera| camera.width), largest(|camera| camera.height));
        RenderProfile::of(world.scenario.render_profile).apply(&mut world.model, size);
        world.check()
    }

    /// Compiles the same world for videos and thumbnails, in frames of `width` x `height` pixels.
    ///
    /// # Errors
    /// [`WorldError`] names the file or key at fault.
    pub fn build_to_draw(
        scenario: Arc<Scenario>,
        width: u32,
        height: u32,
        quality: Quality,
    ) -> Result<Self, WorldError> {
        let mut world = Self::compile(scenario, true)?;
        let id = world.scenario.id.to_string();
        look::apply(&mut world.model, &id, width, height, quality);
        world.check()
    }

    /// Compiles the model, with the meshes that only pictures have if it is `to_draw`.
    fn compile(scenario: Arc<Scenario>, to_draw: bool) -> Result<Self, WorldError> {
        let mut spec = read(&scenario.folder, &scenario.world.scene)?;
        for robot in &scenario.robots {
            attach(&mut spec, robot)?;
            if scenario.control.mode == Mode::JointTorque && scenario.control.robot.as_ref() == Some(&robot.name) {
                make_motors(&mut spec, robot);
            }
        }
        let file = scenario.world.scene.clone();
        let fail = |e: MjEditError| WorldError::Mjcf { file, message: e.to_string() };
        let mut model = spec.compile().map_err(fail.clone())?;
        if to_draw && bowls::add_meshes(&mut spec, &model) {
            model = spec.compile().map_err(fail)?;
        }
        let options = model.opt_mut();
        let (scenario_s, scene_s) = (scenario.world.timestep_s, options.timestep);
        // Gains and contact parameters are tuned for a particular step, so a different value would be a mistake.
        if scenario_s.to_bits() != scene_s.to_bits() {
            return Err(WorldError::Timestep { scenario_s, scene_s });
        }
        options.disableflags |= DISABLE_AUTORESET;
        guard::check(&model)?;
        Ok(Self { scenario, model })
    }

    /// Resolves every name before the first episode, so that errors are reported immediately.
    fn check(self) -> Result<Self, WorldError> {
        self.simulation(0)?;
        Ok(self)
    }

    /// Returns the scenario.
    #[must_use]
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// Returns the numbers of bodies (including the world body), geoms and degrees of freedom.
    #[must_use]
    pub fn sizes(&self) -> [u32; 3] {
        let ffi = self.model.ffi();
        let count = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
        [count(ffi.nbody), count(ffi.ngeom), count(ffi.nv)]
    }

    /// Creates the episode whose world is drawn with `seed`, at its start.
    ///
    /// # Errors
    /// [`WorldError`] if the draw or the start state is impossible.
    pub fn simulation(&self, seed: u64) -> Result<Simulation, WorldError> {
        Simulation::new(Arc::clone(&self.scenario), Box::new(self.model.clone()), seed)
    }
}

fn read(folder: &Path, file: &str) -> Result<MjSpec, WorldError> {
    let fail = |message: String| WorldError::Mjcf { file: file.to_owned(), message };
    let plain = Path::new(file).components().all(|c| matches!(c, std::path::Component::Normal(_)));
    if !plain {
        return Err(fail("must be a path inside the folder".to_owned()));
    }
    MjSpec::from_xml(folder.join(file)).map_err(|e| fail(e.to_string()))
}

fn attach(spec: &mut MjSpec, robot: &Robot) -> Result<(), WorldError> {
    let mut child = read(&robot.folder, &robot.model.model)?;
    let missing = |what: String| WorldError::Missing { key: format!("robot {:?}", robot.name), what };
    let site = spec.site_mut(&robot.mount).ok_or_else(|| missing(format!("site {:?} in the scene", robot.mount)))?;
    let prefix = format!("{}/", robot.name);
    site.attach_by_deep_copy(&mut child, &prefix, "")
        .map_err(|e| WorldError::Mjcf { file: robot.model.model.clone(), message: e.to_string() })?;
    Ok(())
}

/// Replaces a robot's servos by motors: `torque = ctrl`, within the same limits. Gravity compensation is kept.
fn make_motors(spec: &mut MjSpec, robot: &Robot) {
    for (joint, torque) in robot.model.joints.iter().zip(&robot.model.limits.torque) {
        // A missing name is rejected when names are resolved.
        if let Some(actuator) = spec.actuator_mut(&format!("{}/{joint}", robot.name)) {
            actuator.gainprm_mut().fill(0.0);
            actuator.gainprm_mut()[0] = 1.0;
            actuator.biasprm_mut().fill(0.0);
            *actuator.ctrlrange_mut() = [-torque, *torque];
        }
    }
}
