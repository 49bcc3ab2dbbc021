//! The bodies or the joint that determined a signal's value, recorded as a number and decoded to names afterwards.

use mujoco_rs::prelude::*;

use super::groups::Groups;

/// No particular body or joint determined the value.
pub(super) const NOT_INVOLVED: u32 = u32::MAX;

/// Returns the number of a pair of geoms.
pub(super) fn pair_number(groups: &Groups, a: usize, b: usize) -> u32 {
    u32::try_from(a * groups.masks.len() + b).unwrap_or(NOT_INVOLVED)
}

/// Returns the names of the two bodies behind a number of [`pair_number`].
pub(super) fn pair_names(model: &MjModel, involved: u32) -> Vec<String> {
    let Some(pair) = decode(involved) else { return Vec::new() };
    let geoms = model.geom_bodyid().len();
    [pair / geoms, pair % geoms].iter().map(|geom| body_name(model, *geom)).collect()
}

/// Returns the number as an index, or `None` for [`NOT_INVOLVED`].
pub(super) fn decode(involved: u32) -> Option<usize> {
    usize::try_from(involved).ok().filter(|_| involved != NOT_INVOLVED)
}

/// Returns the greatest of the values and `least`, and sets `involved` to its index if it is one of the values.
pub(super) fn greatest_of(values: impl Iterator<Item = f64>, least: f64, involved: &mut u32) -> f64 {
    *involved = NOT_INVOLVED;
    (0..).zip(values).fold(least, |greatest, (index, value)| {
        if value > greatest {
            *involved = index;
        }
        greatest.max(value)
    })
}

/// Returns the name of a geom's body, or the geom's own name if it is fixed to the world.
pub(super) fn body_name(model: &MjModel, geom: usize) -> String {
    let body = usize::try_from(model.geom_bodyid()[geom]).unwrap_or(0);
    let of_body = model.id_to_name(MjtObjBase::mjOBJ_BODY, body).filter(|_| body != 0);
    let name = of_body.or_else(|| model.id_to_name(MjtObjBase::mjOBJ_GEOM, geom));
    name.map_or_else(|| format!("geom {geom}"), str::to_owned)
}

/// Returns the name of the joint whose address in qpos or qvel is entry `involved` of `indices`.
pub(super) fn joint_name(model: &MjModel, indices: &[usize], addresses: &[i32], involved: u32) -> Vec<String> {
    let Some(index) = decode(involved).and_then(|i| indices.get(i)) else { return Vec::new() };
    let at = addresses.iter().position(|address| usize::try_from(*address).ok().as_ref() == Some(index));
    at.and_then(|joint| model.id_to_name(MjtObjBase::mjOBJ_JOINT, joint)).map(str::to_owned).into_iter().collect()
}
