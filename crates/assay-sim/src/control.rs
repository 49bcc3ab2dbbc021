//! Controllers: how an action becomes `ctrl` at every physics step.

mod ee_velocity;

use assay_scenario::{Mode, Scenario};
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle::{self, RobotIds};
use ee_velocity::EeVelocity;

type Data = MjData<Box<MjModel>>;

/// The scenario's controller.
pub(crate) enum Controller {
    /// Actuators that take the action's numbers as they are.
    Actuator(Vec<usize>),
    /// See [`Mode::EeVelocity`].
    EeVelocity(Box<EeVelocity>),
}

impl Controller {
    pub(crate) fn resolve(model: &MjModel, scenario: &Scenario, robots: &[RobotIds]) -> Result<Self, WorldError> {
        match scenario.control.mode {
            Mode::Actuator => {
                let names = &scenario.control.actuators;
                let ids = names.iter().map(|name| handle::actuator(model, name, "control.actuators"));
                Ok(Self::Actuator(ids.collect::<Result<_, _>>()?))
            }
            Mode::EeVelocity => {
                let name = scenario.control.robot.as_deref().unwrap_or_default();
                let index = scenario.robots.iter().position(|robot| robot.name == name).unwrap_or(0);
                let period_s = 1.0 / scenario.world.control_hz;
                Ok(Self::EeVelocity(Box::new(EeVelocity::new(
                    &scenario.robots[index],
                    robots[index].clone(),
                    period_s,
                ))))
            }
        }
    }

    /// Takes a new action (already clipped) at the start of a control step.
    pub(crate) fn act(&mut self, data: &mut Data, action: &[f64]) {
        match self {
            Self::Actuator(ids) => ids.iter().zip(action).for_each(|(id, value)| data.ctrl_mut()[*id] = *value),
            Self::EeVelocity(controller) => controller.act(data, action),
        }
    }

    /// Before a physics step that ends `elapsed_s` after the control step began.
    pub(crate) fn before_step(&mut self, data: &mut Data, elapsed_s: f64) {
        if let Self::EeVelocity(controller) = self {
            controller.before_step(data, elapsed_s);
        }
    }
}
