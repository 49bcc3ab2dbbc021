//! Controllers: how an action becomes `ctrl` at every physics step.

mod ee_pose;
mod ee_velocity;
mod joint;
mod reference;

use std::collections::VecDeque;

use assay_scenario::{Mode, Scenario};
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle::{self, RobotIds};
use reference::Reference;

type Data = MjData<Box<MjModel>>;

/// The scenario's controller.
pub(crate) struct Controller {
    drive: Drive,
    /// Actions that have not taken effect yet, oldest first.
    late: VecDeque<Vec<f64>>,
    latency_steps: usize,
}

/// What an action moves.
enum Drive {
    /// Actuators that take the action's numbers as they are.
    Actuator(Vec<usize>),
    /// A robot's arm, in one of the modes that have a [`Reference`].
    Arm(Mode, Box<Reference>),
}

impl Controller {
    pub(crate) fn resolve(model: &MjModel, scenario: &Scenario, robots: &[RobotIds]) -> Result<Self, WorldError> {
        let control = &scenario.control;
        let drive = match control.mode {
            Mode::Actuator => {
                let ids = control.actuators.iter().map(|name| handle::actuator(model, name, "control.actuators"));
                Drive::Actuator(ids.collect::<Result<_, _>>()?)
            }
            mode
            @ (Mode::EeVelocity | Mode::EePose | Mode::JointPosition | Mode::JointVelocity | Mode::JointTorque) => {
                let name = control.robot.as_deref().unwrap_or_default();
                let index = scenario.robots.iter().position(|robot| robot.name == name).unwrap_or(0);
                let period_s = 1.0 / scenario.world.control_hz;
                let reference = Reference::new(&scenario.robots[index], robots[index].clone(), period_s);
                Drive::Arm(mode, Box::new(reference))
            }
        };
        Ok(Self { drive, late: VecDeque::new(), latency_steps: control.action_latency_steps as usize })
    }

    /// Takes a new action (already clipped) at the start of a control step.
    pub(crate) fn act(&mut self, data: &mut Data, action: &[f64]) {
        if self.latency_steps == 0 {
            return self.drive.act(data, action);
        }
        self.late.push_back(action.to_vec());
        if self.late.len() > self.latency_steps
            && let Some(action) = self.late.pop_front()
        {
            self.drive.act(data, &action);
        }
    }

    /// Before a physics step that ends `elapsed_s` after the control step began.
    pub(crate) fn before_step(&mut self, data: &mut Data, elapsed_s: f64) {
        if let Drive::Arm(Mode::EeVelocity | Mode::EePose | Mode::JointPosition | Mode::JointVelocity, reference) =
            &self.drive
        {
            reference.before_step(data, elapsed_s);
        }
    }
}

impl Drive {
    fn act(&mut self, data: &mut Data, action: &[f64]) {
        match self {
            Self::Actuator(ids) => ids.iter().zip(action).for_each(|(id, value)| data.ctrl_mut()[*id] = *value),
            Self::Arm(Mode::EePose, reference) => ee_pose::act(reference, data, action),
            Self::Arm(Mode::JointPosition, reference) => joint::position(reference, data, action),
            Self::Arm(Mode::JointVelocity, reference) => joint::velocity(reference, data, action),
            Self::Arm(Mode::JointTorque, reference) => joint::torque(reference, data, action),
            Self::Arm(_, reference) => ee_velocity::act(reference, data, action),
        }
    }
}
