//! Limits on a compiled world, because MuJoCo also accepts worlds that no machine can step.

use mujoco_rs::prelude::*;

use crate::WorldError;

/// Maximum number of bodies.
const MAX_BODIES: u64 = 1000;
/// Maximum number of geoms.
const MAX_GEOMS: u64 = 4000;
/// Maximum number of degrees of freedom.
const MAX_DOF: u64 = 400;
/// Maximum number of actuators.
const MAX_ACTUATORS: u64 = 200;
/// Maximum size of the arena (contacts, constraints) in bytes.
const MAX_ARENA_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum number of solver iterations.
const MAX_ITERATIONS: u64 = 200;

/// Rejects models that are too large to run or contain numbers that are not finite.
pub(crate) fn check(model: &MjModel) -> Result<(), WorldError> {
    let count = |value: i64| u64::try_from(value).unwrap_or(u64::MAX);
    let ffi = model.ffi();
    let sizes = [
        ("bodies", count(ffi.nbody), MAX_BODIES),
        ("geoms", count(ffi.ngeom), MAX_GEOMS),
        ("degrees of freedom", count(ffi.nv), MAX_DOF),
        ("actuators", count(ffi.nu), MAX_ACTUATORS),
        ("arena bytes", count(ffi.narena), MAX_ARENA_BYTES),
        ("solver iterations", count(ffi.opt.iterations.into()), MAX_ITERATIONS),
        ("line search iterations", count(ffi.opt.ls_iterations.into()), MAX_ITERATIONS),
        ("plugins", count(ffi.nplugin), 0),
    ];
    for (what, value, limit) in sizes {
        if value > limit {
            return Err(WorldError::TooLarge { what, value, limit });
        }
    }
    check_finite(model)
}

/// Rejects numbers that are not finite: MuJoCo accepts `nan` in most attributes and then computes with it.
fn check_finite(model: &MjModel) -> Result<(), WorldError> {
    let all = |numbers: &[f64]| numbers.iter().all(|x| x.is_finite());
    let checks = [
        ("gravity or wind", all(&model.ffi().opt.gravity) && all(&model.ffi().opt.wind)),
        ("a body's position", all(model.body_pos().as_flattened())),
        ("a body's orientation", all(model.body_quat().as_flattened())),
        ("a body's mass or inertia", all(model.body_mass()) && all(model.body_inertia().as_flattened())),
        ("a body's centre of mass", all(model.body_ipos().as_flattened()) && all(model.body_iquat().as_flattened())),
        ("a joint's reference position", all(model.qpos0())),
        ("a joint's axis or anchor", all(model.jnt_axis().as_flattened()) && all(model.jnt_pos().as_flattened())),
        ("a joint's range", all(model.jnt_range().as_flattened())),
        ("a joint's stiffness", all(model.jnt_stiffness())),
        ("a joint's damping or armature", all(model.dof_damping()) && all(model.dof_armature())),
        ("a geom's size", all(model.geom_size().as_flattened())),
        ("a geom's place", all(model.geom_pos().as_flattened()) && all(model.geom_quat().as_flattened())),
        ("a geom's friction", all(model.geom_friction().as_flattened())),
        (
            "a geom's solref or solimp",
            all(model.geom_solref().as_flattened()) && all(model.geom_solimp().as_flattened()),
        ),
        ("a site's place", all(model.site_pos().as_flattened()) && all(model.site_quat().as_flattened())),
        ("an actuator's gear", all(model.actuator_gear().as_flattened())),
        ("an actuator's gain", all(model.actuator_gainprm().as_flattened())),
        ("an actuator's bias", all(model.actuator_biasprm().as_flattened())),
    ];
    checks.into_iter().try_for_each(|(what, finite)| if finite { Ok(()) } else { Err(WorldError::NotFinite(what)) })
}
