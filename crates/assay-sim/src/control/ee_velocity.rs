//! End-effector velocity: damped least squares inverse kinematics (Nakamura and Hanafusa 1986) with a posture task in
//! the null space.

use mujoco_rs::prelude::*;
use nalgebra::{Matrix6, Vector6};

use super::reference::Reference;

/// Square of the damping away from singularities, which only keeps the inverse finite.
const MIN_DAMPING_SQUARED: f64 = 1e-6;

/// Moves the tool and the gripper. `action`: linear (m/s) and angular (rad/s) velocity in world axes, gripper in [-1,
/// 1]. Kinematics must be up to date.
pub(super) fn act(reference: &mut Reference, data: &mut MjData<Box<MjModel>>, action: &[f64]) {
    drive(reference, data, &Vector6::from_row_slice(&action[..6]));
    reference.grip(data, action.get(6));
}

/// Moves the tool with the velocity `v`, linear above angular.
pub(super) fn drive(reference: &mut Reference, data: &MjData<Box<MjModel>>, v: &Vector6<f64>) {
    let q = reference.measured(data);
    reference.advance(&q);
    let qd = resolve(reference, data, &q, v);
    reference.follow(qd, &q);
}

/// Returns the joint velocities that give the tool velocity `v` and pull towards the start posture in the null space:
/// `qd = n + J' (J J' + d2 I)^-1 (v - J n)` with `n = gain (home - q)`.
fn resolve(reference: &Reference, data: &MjData<Box<MjModel>>, q: &[f64], v: &Vector6<f64>) -> Vec<f64> {
    let robot = &reference.robot;
    let ik = &robot.model.ik;
    let columns = jacobian(reference, data);
    let product = columns.iter().fold(Matrix6::zeros(), |sum, column| sum + column * column.transpose());
    let manipulability = product.determinant().max(0.0).sqrt();
    let near = (1.0 - (manipulability / ik.manipulability_threshold).powi(2)).max(0.0);
    let damping = (ik.damping * ik.damping * near).max(MIN_DAMPING_SQUARED);
    let null: Vec<f64> =
        robot.qpos.iter().zip(q).zip(&ik.nullspace_gain).map(|((home, q), gain)| gain * (home - q)).collect();
    let drift = columns.iter().zip(&null).fold(Vector6::zeros(), |sum, (column, n)| sum + column * *n);
    let damped = product + Matrix6::identity() * damping;
    let Some(factor) = damped.cholesky() else { return vec![0.0; q.len()] };
    let wrench = factor.solve(&(v - drift));
    columns.iter().zip(&null).map(|(column, n)| n + column.dot(&wrench)).collect()
}

/// Returns the tool's Jacobian (linear above angular, world axes), with a column per arm joint.
fn jacobian(reference: &Reference, data: &MjData<Box<MjModel>>) -> Vec<Vector6<f64>> {
    let (linear, angular) = data.jac_site(true, true, reference.ids.tcp);
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
    reference.ids.dof.iter().map(column).collect()
}
