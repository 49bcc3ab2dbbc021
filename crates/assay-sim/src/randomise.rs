//! Application of an episode's draw to the model and the start state.

use assay_scenario::{Setting, Target};
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::{bounds, handle};

/// Key reported in errors; a setting does not record which of the two it comes from.
const KEY: &str = "set.target or placement.bodies";

/// Destination of a number of the start state.
pub(crate) enum StartValue {
    Position(usize, f64),
    Velocity(usize, f64),
}

/// Writes the settings that concern the model; returns those that concern the start state.
pub(crate) fn apply(model: &mut MjModel, settings: &[Setting]) -> Result<Vec<StartValue>, WorldError> {
    let mut start = Vec::new();
    for Setting { target, value } in settings {
        let (key, value) = (KEY, *value);
        check_range(target, value)?;
        match target {
            Target::BodyPosition(name, axis) => {
                let id = handle::body(model, name, key)?;
                match free_joint(model, id) {
                    Some(qpos) => start.push(StartValue::Position(qpos + axis, value)),
                    None => model.body_pos_mut()[id][*axis] = value,
                }
            }
            Target::BodyYaw(name) => {
                let id = handle::body(model, name, key)?;
                let turn = [(value / 2.0).cos(), 0.0, 0.0, (value / 2.0).sin()];
                match free_joint(model, id) {
                    Some(qpos) => start.extend((0..4).map(|i| StartValue::Position(qpos + 3 + i, turn[i]))),
                    None => model.body_quat_mut()[id] = turn,
                }
            }
            Target::BodyMass(name) => {
                let id = handle::body(model, name, key)?;
                let mass = model.body_mass()[id];
                if mass <= 0.0 {
                    let what = format!("mass of body {name:?} in the scene (give its geoms a mass)");
                    return Err(WorldError::Missing { key: key.to_owned(), what });
                }
                let ratio = value / mass;
                model.body_mass_mut()[id] = value;
                model.body_inertia_mut()[id].iter_mut().for_each(|inertia| *inertia *= ratio);
            }
            Target::GeomSize(name, index) => {
                let id = handle::geom(model, name, key)?;
                model.geom_size_mut()[id][*index] = value;
                bounds::update(model, id);
            }
            Target::GeomFriction(name, index) => {
                let id = handle::geom(model, name, key)?;
                model.geom_friction_mut()[id][*index] = value;
            }
            Target::JointPosition(name) => start.push(StartValue::Position(handle::joint(model, name, key)?.0, value)),
            Target::JointVelocity(name) => start.push(StartValue::Velocity(handle::joint(model, name, key)?.1, value)),
            Target::JointDamping(name) => {
                let (_, dof) = handle::joint(model, name, key)?;
                model.dof_damping_mut()[dof] = value;
            }
        }
    }
    Ok(start)
}

/// Returns the index in qpos of a body's free joint, if it has one; its pose is then part of the state and not of the
/// model.
fn free_joint(model: &MjModel, body: usize) -> Option<usize> {
    let joint = usize::try_from(model.body_jntadr()[body]).ok()?;
    let free = matches!(model.jnt_type()[joint], MjtJoint::mjJNT_FREE);
    free.then(|| usize::try_from(model.jnt_qposadr()[joint]).ok()).flatten()
}

/// Checks the range of a value, because MuJoCo accepts any number and computes nonsense from an invalid one.
fn check_range(target: &Target, value: f64) -> Result<(), WorldError> {
    let (what, valid) = match target {
        Target::BodyMass(name) => (format!("the mass of body {name:?}"), value > 0.0),
        Target::GeomSize(name, _) => (format!("a size of geom {name:?}"), value > 0.0),
        Target::GeomFriction(name, _) => (format!("a friction of geom {name:?}"), value >= 0.0),
        Target::JointDamping(name) => (format!("the damping of joint {name:?}"), value >= 0.0),
        Target::BodyPosition(..) | Target::BodyYaw(_) | Target::JointPosition(_) | Target::JointVelocity(_) => {
            return Ok(());
        }
    };
    if valid { Ok(()) } else { Err(WorldError::OutOfRange { what, value }) }
}
