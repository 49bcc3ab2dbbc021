//! End-effector pose: a proportional controller on top of [`super::ee_velocity`]. The tool moves straight towards the
//! pose.

use mujoco_rs::prelude::*;
use nalgebra::{Matrix3, Quaternion, Rotation3, UnitQuaternion, Vector3, Vector6};

use super::ee_velocity;
use super::reference::Reference;

/// Proportional gain, 1/s.
const GAIN: f64 = 5.0;
/// Maximum commanded tool velocity, m/s.
const LINEAR_M_S: f64 = 1.0;
/// Maximum commanded angular velocity, rad/s.
const ANGULAR_RAD_S: f64 = 2.5;
/// Minimum norm of a quaternion. If it is shorter, the current orientation is kept.
const MIN_NORM: f64 = 1e-6;

/// Moves the tool towards a pose. `action`: position in m, quaternion w, x, y, z (of any norm), gripper in [-1, 1].
/// Kinematics must be up to date.
pub(super) fn act(reference: &mut Reference, data: &mut MjData<Box<MjModel>>, action: &[f64]) {
    let tcp = reference.ids.tcp;
    let way = Vector3::from_row_slice(&action[..3]) - Vector3::from(data.site_xpos()[tcp]);
    let now = Matrix3::from_row_slice(&data.site_xmat()[tcp]);
    let now = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(now));
    let wanted = Quaternion::new(action[3], action[4], action[5], action[6]);
    let turn = UnitQuaternion::try_new(wanted, MIN_NORM)
        .map_or(Vector3::zeros(), |wanted| (wanted * now.inverse()).scaled_axis());
    let (linear, angular) = ((GAIN * way).cap_magnitude(LINEAR_M_S), (GAIN * turn).cap_magnitude(ANGULAR_RAD_S));
    let velocity = Vector6::new(linear.x, linear.y, linear.z, angular.x, angular.y, angular.z);
    ee_velocity::drive(reference, data, &velocity);
    reference.grip(data, action.get(7));
}
