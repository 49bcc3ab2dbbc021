//! The reference that an arm's servos follow: a position and a velocity per joint, kept within the manufacturer's
//! velocity, acceleration and position limits whatever a policy requests.
//!
//! It is integrated at the control rate and interpolated at the physics rate; joint servos in the MJCF track it
//! (`torque = kp (ctrl - q) - kd qd`), so `ctrl` includes a velocity feed-forward.

use assay_scenario::Robot;
use mujoco_rs::prelude::*;

use super::fingers::Fingers;
use crate::handle::RobotIds;

/// Margin to a joint's position limit, rad.
const LIMIT_MARGIN_RAD: f64 = 0.02;
/// Fraction of the acceleration limit used for braking before a position limit or a target.
const BRAKE_SHARE: f64 = 0.5;

/// A robot's arm and gripper with their references.
pub(super) struct Reference {
    pub(super) robot: Robot,
    pub(super) ids: RobotIds,
    pub(super) period_s: f64,
    /// Empty before the first action.
    q_ref: Vec<f64>,
    qd_ref: Vec<f64>,
    fingers: Option<Fingers>,
}

impl Reference {
    pub(super) fn new(robot: &Robot, ids: RobotIds, period_s: f64) -> Self {
        let n = ids.qpos.len();
        let speed = robot.model.gripper.as_ref().and_then(|gripper| gripper.speed_m_per_s);
        let fingers = ids.gripper.as_ref().map(|gripper| Fingers::new(gripper, speed, period_s));
        Self { q_ref: Vec::new(), qd_ref: vec![0.0; n], robot: robot.clone(), ids, period_s, fingers }
    }

    /// Returns the arm's actual joint angles, rad.
    pub(super) fn measured(&self, data: &MjData<Box<MjModel>>) -> Vec<f64> {
        self.ids.qpos.iter().map(|i| data.qpos()[*i]).collect()
    }

    /// Advances the reference at the end of a control step. `q` are the actual joint angles.
    pub(super) fn advance(&mut self, q: &[f64]) {
        if self.q_ref.is_empty() {
            self.q_ref = q.to_vec();
        } else {
            self.q_ref.iter_mut().zip(&self.qd_ref).for_each(|(q, qd)| *q += qd * self.period_s);
        }
    }

    /// Returns the velocities that move each joint of the reference to `target` as fast as its limits allow and let it
    /// stop there.
    pub(super) fn towards(&self, target: &[f64]) -> Vec<f64> {
        let (ik, limits) = (&self.robot.model.ik, &self.robot.model.limits);
        let velocity = |i: usize| {
            let way = target[i] - self.q_ref[i];
            let stop = (2.0 * BRAKE_SHARE * limits.acceleration[i] * ik.velocity_share * way.abs()).sqrt();
            let most = stop.min(ik.velocity_share * limits.velocity[i]).min(way.abs() / self.period_s);
            most.copysign(way)
        };
        (0..self.q_ref.len()).map(velocity).collect()
    }

    /// Moves the reference velocity towards `qd` within all limits. `q` are the actual joint angles, so that the
    /// reference does not run far ahead of a blocked joint.
    pub(super) fn follow(&mut self, mut qd: Vec<f64>, q: &[f64]) {
        self.limit_velocity(&mut qd);
        self.approach(&qd);
        self.brake();
        let leash = self.robot.model.ik.leash_rad;
        self.q_ref.iter_mut().zip(q).for_each(|(reference, q)| *reference = reference.clamp(q - leash, q + leash));
    }

    /// Requests an opening of the gripper in [-1, 1], if there is a gripper.
    pub(super) fn grip(&mut self, data: &mut MjData<Box<MjModel>>, opening: Option<&f64>) {
        if let (Some(fingers), Some(opening)) = (&mut self.fingers, opening) {
            fingers.act(data, *opening);
        }
    }

    /// Interpolates the fingers' target.
    pub(super) fn move_fingers(&self, data: &mut MjData<Box<MjModel>>, elapsed_s: f64) {
        if let Some(fingers) = &self.fingers {
            fingers.before_step(data, elapsed_s);
        }
    }

    /// Interpolates the reference into the servos' targets.
    pub(super) fn before_step(&self, data: &mut MjData<Box<MjModel>>, elapsed_s: f64) {
        let servo = &self.robot.model.servo;
        let ctrl = data.ctrl_mut();
        for ((i, actuator), q) in self.ids.actuators.iter().enumerate().zip(&self.q_ref) {
            ctrl[*actuator] = q + self.qd_ref[i] * (elapsed_s + servo.kd[i] / servo.kp[i]);
        }
        self.move_fingers(data, elapsed_s);
    }

    /// Scales the velocities of all joints by the same factor, which preserves the direction of motion.
    fn limit_velocity(&self, qd: &mut [f64]) {
        let (ik, limits) = (&self.robot.model.ik, &self.robot.model.limits);
        let excess = qd
            .iter()
            .zip(&limits.velocity)
            .map(|(qd, limit)| qd.abs() / (ik.velocity_share * limit))
            .fold(1.0, f64::max);
        qd.iter_mut().for_each(|qd| *qd /= excess);
    }

    /// Moves the reference velocity towards `qd` within the acceleration limits.
    fn approach(&mut self, qd: &[f64]) {
        let (ik, limits) = (&self.robot.model.ik, &self.robot.model.limits);
        for (i, reference) in self.qd_ref.iter_mut().enumerate() {
            let most = limits.acceleration[i] * ik.velocity_share * self.period_s;
            *reference += (qd[i] - *reference).clamp(-most, most);
        }
    }

    /// Limits the reference velocity so that each joint can stop before its position limit.
    fn brake(&mut self) {
        let limits = &self.robot.model.limits;
        for (i, reference) in self.qd_ref.iter_mut().enumerate() {
            let stop = |room: f64| (2.0 * BRAKE_SHARE * limits.acceleration[i] * room.max(0.0)).sqrt();
            let up = stop(limits.position_high[i] - LIMIT_MARGIN_RAD - self.q_ref[i]);
            let down = stop(self.q_ref[i] - limits.position_low[i] - LIMIT_MARGIN_RAD);
            *reference = reference.clamp(-down, up);
        }
    }
}
