//! Controllers, which convert actions to `ctrl` at every physics step.

mod base_twist;
mod ee_pose;
mod ee_velocity;
mod fingers;
mod joint;
mod reference;
mod thrust;

use std::collections::VecDeque;

use assay_scenario::{Mode, Robot, Scenario};
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle::{self, Data, RobotIds};
use base_twist::BaseTwist;
use reference::Reference;
use thrust::Thrust;

/// The scenario's controller.
pub(crate) struct Controller {
    drive: Actuation,
    /// Delayed actions that have not taken effect yet, oldest first.
    delayed: VecDeque<Vec<f64>>,
    latency_steps: usize,
}

/// The actuation of an action.
enum Actuation {
    /// Actuators that receive the action's numbers unchanged.
    Actuator(Vec<usize>),
    /// A robot's arm, in one of the modes that have a [`Reference`].
    Arm(Mode, Box<Reference>),
    /// See [`Mode::BaseTwist`].
    BaseTwist(Box<BaseTwist>),
    /// See [`Mode::Thrust`].
    Thrust(Box<Thrust>),
}

impl Controller {
    pub(crate) fn resolve(model: &MjModel, scenario: &Scenario, robots: &[RobotIds]) -> Result<Self, WorldError> {
        let control = &scenario.control;
        let drive = match control.mode {
            Mode::Actuator => {
                let ids = control.actuators.iter().map(|name| handle::actuator(model, name, "control.actuators"));
                Actuation::Actuator(ids.collect::<Result<_, _>>()?)
            }
            mode => {
                let name = control.robot.as_deref().unwrap_or_default();
                let index = scenario.robots.iter().position(|robot| robot.name == name).unwrap_or(0);
                Actuation::of_robot(model, scenario, mode, &scenario.robots[index], &robots[index])?
            }
        };
        Ok(Self { drive, delayed: VecDeque::new(), latency_steps: control.action_latency_steps as usize })
    }

    /// Accepts a new action (already clipped) at the start of a control step.
    pub(crate) fn act(&mut self, data: &mut Data, action: &[f64]) {
        if self.latency_steps == 0 {
            return self.drive.act(data, action);
        }
        self.delayed.push_back(action.to_vec());
        if self.delayed.len() > self.latency_steps
            && let Some(action) = self.delayed.pop_front()
        {
            self.drive.act(data, &action);
        }
    }

    /// Updates `ctrl` before a physics step that ends `elapsed_s` after the control step began.
    pub(crate) fn before_step(&mut self, data: &mut Data, elapsed_s: f64) {
        match &mut self.drive {
            Actuation::Actuator(_) => {}
            // The policy's torques are left unchanged.
            Actuation::Arm(Mode::JointTorque, reference) => reference.move_fingers(data, elapsed_s),
            Actuation::Arm(_, reference) => reference.before_step(data, elapsed_s),
            Actuation::BaseTwist(controller) => controller.before_step(data),
            Actuation::Thrust(controller) => controller.before_step(data),
        }
    }
}

impl Actuation {
    fn of_robot(
        model: &MjModel,
        scenario: &Scenario,
        mode: Mode,
        robot: &Robot,
        ids: &RobotIds,
    ) -> Result<Self, WorldError> {
        Ok(match (mode, &robot.model.drive, &robot.model.rotors) {
            (Mode::BaseTwist, Some(drive), _) => {
                let timestep_s = scenario.world.timestep_s;
                Self::BaseTwist(Box::new(BaseTwist::resolve(model, &robot.name, drive, timestep_s)?))
            }
            (Mode::Thrust, _, Some(rotors)) => {
                Self::Thrust(Box::new(Thrust::resolve(model, &robot.name, ids.tcp, rotors)?))
            }
            // Unreachable: loading the scenario has checked that the robot supports its mode.
            _ => {
                let period_s = 1.0 / scenario.world.control_hz;
                Self::Arm(mode, Box::new(Reference::new(robot, ids.clone(), period_s)))
            }
        })
    }

    fn act(&mut self, data: &mut Data, action: &[f64]) {
        match self {
            Self::Actuator(ids) => ids.iter().zip(action).for_each(|(id, value)| data.ctrl_mut()[*id] = *value),
            Self::Arm(Mode::EePose, reference) => ee_pose::act(reference, data, action),
            Self::Arm(Mode::JointPosition, reference) => joint::position(reference, data, action),
            Self::Arm(Mode::JointVelocity, reference) => joint::velocity(reference, data, action),
            Self::Arm(Mode::JointTorque, reference) => joint::torque(reference, data, action),
            Self::Arm(_, reference) => ee_velocity::act(reference, data, action),
            Self::BaseTwist(controller) => controller.act(action),
            Self::Thrust(controller) => controller.act(action),
        }
    }
}
