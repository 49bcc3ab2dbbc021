//! Limits on a compiled world: MuJoCo accepts worlds that no machine can step.

use mujoco_rs::prelude::*;

use crate::WorldError;

/// Most bodies.
const MAX_BODIES: u64 = 1000;
/// Most geoms.
const MAX_GEOMS: u64 = 4000;
/// Most degrees of freedom.
const MAX_DOF: u64 = 400;
/// Most actuators.
const MAX_ACTUATORS: u64 = 200;
/// Largest arena (contacts, constraints) in bytes.
const MAX_ARENA_BYTES: u64 = 256 * 1024 * 1024;
/// Most iterations of the solvers.
const MAX_ITERATIONS: u64 = 200;

/// Refuses what is too large to run or contains numbers that are none.
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
    let finite = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(true, |all, x| all && x.is_finite());
    if !finite(&mut model.body_pos().iter().flatten().copied()) {
        return Err(WorldError::NotFinite("a body's position"));
    }
    if !finite(&mut model.body_mass().iter().copied()) || !finite(&mut model.body_inertia().iter().flatten().copied()) {
        return Err(WorldError::NotFinite("a body's mass or inertia"));
    }
    if !finite(&mut model.qpos0().iter().copied()) {
        return Err(WorldError::NotFinite("a joint's reference position"));
    }
    Ok(())
}
