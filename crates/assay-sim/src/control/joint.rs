//! Joint space: positions or velocities for the servos, or direct torques.

use mujoco_rs::prelude::*;

use super::reference::Reference;

/// Moves the joints to positions. `action`: an angle in rad for each joint, then the gripper in [-1, 1].
pub(super) fn position(reference: &mut Reference, data: &mut MjData<Box<MjModel>>, action: &[f64]) {
    let q = reference.measured(data);
    reference.advance(&q);
    let qd = reference.towards(&action[..q.len()]);
    reference.follow(qd, &q);
    reference.grip(data, action.get(q.len()));
}

/// Moves the joints with velocities. `action`: a velocity in rad/s for each joint, then the gripper in [-1, 1].
pub(super) fn velocity(reference: &mut Reference, data: &mut MjData<Box<MjModel>>, action: &[f64]) {
    let q = reference.measured(data);
    reference.advance(&q);
    reference.follow(action[..q.len()].to_vec(), &q);
    reference.grip(data, action.get(q.len()));
}

/// Applies torques to the joints. `action`: a torque in Nm for each joint, then the gripper in [-1, 1]. The world has
/// been built with motors instead of servos.
pub(super) fn torque(reference: &mut Reference, data: &mut MjData<Box<MjModel>>, action: &[f64]) {
    let n = reference.ids.actuators.len();
    for (actuator, torque) in reference.ids.actuators.iter().zip(action) {
        data.ctrl_mut()[*actuator] = *torque;
    }
    reference.grip(data, action.get(n));
}
