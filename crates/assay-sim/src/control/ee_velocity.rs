//! End-effector velocity: damped least squares inverse kinematics (Nakamura and Hanafusa 1986) with a posture task in
//! the null space, kept within the vendor's joint velocity, acceleration and position limits.
//!
//! The reference (`q_ref`, `qd_ref`) is integrated at the control rate and interpolated at the physics step; joint
//! servos in the MJCF follow it (`torque = kp (ctrl - q) - kd qd`), so `ctrl` carries a velocity feed-forward.

use assay_scenario::Robot;
use mujoco_rs::prelude::*;
use nalgebra::{Matrix6, Vector6};

use crate::handle::RobotIds;

/// Room kept before a joint's position limit, rad.
const LIMIT_MARGIN_RAD: f64 = 0.02;
/// Share of the acceleration limit that is used to brake before a position limit.
const BRAKE_SHARE: f64 = 0.5;
/// Square of the damping away from singularities: keeps the inverse finite, nothing more.
const LEAST_DAMPING_SQUARED: f64 = 1e-6;

/// The controller's state.
pub(crate) struct EeVelocity {
    robot: Robot,
    ids: RobotIds,
    period_s: f64,
    /// Empty before the first action.
    q_ref: Vec<f64>,
    qd_ref: Vec<f64>,
}

impl EeVelocity {
    pub(crate) fn new(robot: &Robot, ids: RobotIds, period_s: f64) -> Self {
        let n = ids.qpos.len();
        Self { q_ref: Vec::new(), qd_ref: vec![0.0; n], robot: robot.clone(), ids, period_s }
    }

    /// `action`: linear (m/s) and angular (rad/s) velocity in world axes, gripper in [-1, 1]. Kinematics must be current.
    pub(crate) fn act(&mut self, data: &mut MjData<Box<MjModel>>, action: &[f64]) {
        let q: Vec<f64> = self.ids.qpos.iter().map(|i| data.qpos()[*i]).collect();
        if self.q_ref.is_empty() {
            self.q_ref.clone_from(&q);
        } else {
            self.q_ref.iter_mut().zip(&self.qd_ref).for_each(|(q, qd)| *q += qd * self.period_s);
        }
        let mut qd = self.resolve(data, &q, &Vector6::from_row_slice(&action[..6]));
        self.limit_velocity(&mut qd);
        self.approach(&qd);
        self.brake();
        let leash = self.robot.model.ik.leash_rad;
        self.q_ref.iter_mut().zip(&q).for_each(|(reference, q)| *reference = reference.clamp(q - leash, q + leash));
        if let Some((actuator, _, open_m)) = &self.ids.gripper {
            data.ctrl_mut()[*actuator] = open_m * (action[6] + 1.0) / 2.0;
        }
    }

    /// Interpolates the reference into the servos' targets.
    pub(crate) fn before_step(&self, data: &mut MjData<Box<MjModel>>, elapsed_s: f64) {
        let servo = &self.robot.model.servo;
        let ctrl = data.ctrl_mut();
        for (i, actuator) in self.ids.actuators.iter().enumerate() {
            ctrl[*actuator] = self.q_ref[i] + self.qd_ref[i] * (elapsed_s + servo.kd[i] / servo.kp[i]);
        }
    }

    /// Joint velocities that give the tool velocity `v`, and pull towards the start posture where that is free:
    /// `qd = n + J' (J J' + d2 I)^-1 (v - J n)` with `n = gain (home - q)`.
    fn resolve(&self, data: &MjData<Box<MjModel>>, q: &[f64], v: &Vector6<f64>) -> Vec<f64> {
        let ik = &self.robot.model.ik;
        let columns = self.jacobian(data);
        let product = columns.iter().fold(Matrix6::zeros(), |sum, column| sum + column * column.transpose());
        let manipulability = product.determinant().max(0.0).sqrt();
        let near = (1.0 - (manipulability / ik.manipulability_threshold).powi(2)).max(0.0);
        let damping = (ik.damping * ik.damping * near).max(LEAST_DAMPING_SQUARED);
        let null: Vec<f64> =
            self.robot.qpos.iter().zip(q).zip(&ik.nullspace_gain).map(|((home, q), gain)| gain * (home - q)).collect();
        let drift = columns.iter().zip(&null).fold(Vector6::zeros(), |sum, (column, n)| sum + column * *n);
        let damped = product + Matrix6::identity() * damping;
        let Some(factor) = damped.cholesky() else { return vec![0.0; q.len()] };
        let wrench = factor.solve(&(v - drift));
        columns.iter().zip(&null).map(|(column, n)| n + column.dot(&wrench)).collect()
    }

    /// The tool's Jacobian (linear over angular, world axes), a column per arm joint.
    fn jacobian(&self, data: &MjData<Box<MjModel>>) -> Vec<Vector6<f64>> {
        let (linear, angular) = data.jac_site(true, true, self.ids.tcp);
        let dofs = linear.len() / 3;
        let column = |dof: &usize| {
            let row = |m: &[f64], r: usize| m[r * dofs + dof];
            Vector6::new(
                row(&linear, 0),
                row(&linear, 1),
                row(&linear, 2),
                row(&angular, 0),
                row(&angular, 1),
                row(&angular, 2),
            )
        };
        self.ids.dof.iter().map(column).collect()
    }

    /// Scales all joints alike, so that the direction of motion stays.
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

    /// Slows down so that each joint can stop before its position limit.
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
