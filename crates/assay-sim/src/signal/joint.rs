//! Signals of joints: position and velocity of a joint, and how closely the joints of an arm approach their limits.

use std::ops::Neg;

use assay_scenario::Robot;
use mujoco_rs::prelude::*;

use super::involved::{NOT_INVOLVED, greatest_of, joint_name};
use super::physics_signal::{PhysicsSignal, StepState};
use crate::handle::RobotIds;

/// A joint's value in rad or m, by its index in qpos.
pub(super) struct JointValue(pub(super) usize);

impl PhysicsSignal for JointValue {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        step.qpos[self.0]
    }
}

/// A joint's velocity in rad/s or m/s, by its index in qvel.
pub(super) struct JointSpeed(pub(super) usize);

impl PhysicsSignal for JointSpeed {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        step.qvel[self.0]
    }
}

/// Smallest distance of an arm joint to its position limit in rad, negative beyond it.
pub(super) struct JointPositionMargin {
    qpos: Vec<usize>,
    low: Vec<f64>,
    high: Vec<f64>,
    involved: u32,
}

impl JointPositionMargin {
    pub(super) fn new((ids, robot): (&RobotIds, &Robot)) -> Self {
        let limits = &robot.model.limits;
        let (low, high) = (limits.position_low.clone(), limits.position_high.clone());
        Self { qpos: ids.qpos.clone(), low, high, involved: NOT_INVOLVED }
    }
}

impl PhysicsSignal for JointPositionMargin {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let qpos = step.qpos;
        let margin = |(i, (low, high)): (&usize, (&f64, &f64))| (qpos[*i] - *low).min(*high - qpos[*i]);
        let margins = self.qpos.iter().zip(self.low.iter().zip(&self.high)).map(margin);
        greatest_of(margins.map(Neg::neg), f64::NEG_INFINITY, &mut self.involved).neg()
    }

    fn involved(&self) -> u32 {
        self.involved
    }

    fn involved_names(&self, model: &MjModel, involved: u32) -> Vec<String> {
        joint_name(model, &self.qpos, model.jnt_qposadr(), involved)
    }
}

/// Greatest |velocity| / limit over the arm's joints.
pub(super) struct JointVelocityRatio(RatioToLimit);

impl JointVelocityRatio {
    pub(super) fn new((ids, robot): (&RobotIds, &Robot)) -> Self {
        Self(RatioToLimit::new(ids, &robot.model.limits.velocity))
    }
}

impl PhysicsSignal for JointVelocityRatio {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        self.0.greatest(step.qvel)
    }

    fn involved(&self) -> u32 {
        self.0.involved
    }

    fn involved_names(&self, model: &MjModel, involved: u32) -> Vec<String> {
        joint_name(model, &self.0.dof, model.jnt_dofadr(), involved)
    }
}

/// Greatest |torque| / limit over the arm's joints, including gravity compensation.
pub(super) struct JointTorqueRatio(RatioToLimit);

impl JointTorqueRatio {
    pub(super) fn new((ids, robot): (&RobotIds, &Robot)) -> Self {
        Self(RatioToLimit::new(ids, &robot.model.limits.torque))
    }
}

impl PhysicsSignal for JointTorqueRatio {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        self.0.greatest(step.data.qfrc_actuator())
    }

    fn involved(&self) -> u32 {
        self.0.involved
    }

    fn involved_names(&self, model: &MjModel, involved: u32) -> Vec<String> {
        joint_name(model, &self.0.dof, model.jnt_dofadr(), involved)
    }
}

/// Ratio of a quantity to its limit, over the joints of an arm.
struct RatioToLimit {
    dof: Vec<usize>,
    limit: Vec<f64>,
    involved: u32,
}

impl RatioToLimit {
    fn new(ids: &RobotIds, limit: &[f64]) -> Self {
        Self { dof: ids.dof.clone(), limit: limit.to_vec(), involved: NOT_INVOLVED }
    }

    fn greatest(&mut self, values: &[f64]) -> f64 {
        let ratios = self.dof.iter().zip(&self.limit).map(|(i, limit)| values[*i].abs() / limit);
        greatest_of(ratios, 0.0, &mut self.involved)
    }
}
