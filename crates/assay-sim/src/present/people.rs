//! People of whom a scene has only what a robot can touch: their pictures show legs, which are out of reach.

use mujoco_rs::prelude::*;

use crate::Simulation;

/// Maximum number of added parts.
pub(crate) const MAX_PARTS: usize = 16;
/// Name of the body of a person who sits, whose z axis points upwards and who looks along -x.
const SITTING: &str = "torso";
/// Height of the hips above that body, in m.
const HIPS_M: f64 = -0.19;
/// Clothes: their materials, and the colour without one.
const TROUSERS: (&str, [f32; 4]) = ("trousers", [0.17, 0.21, 0.30, 1.0]);
const SHOES: (&str, [f32; 4]) = ("shoes", [0.10, 0.10, 0.11, 1.0]);

/// A part: from, to (m, in the body's frame), radius (m), and its material.
type PersonPart = ([f64; 3], [f64; 3], f64, (&'static str, [f32; 4]));

/// Adds legs to a person who sits, down to the floor below. They are drawn only: they are in no collision and no
/// signal.
pub(crate) fn complete(simulation: &Simulation, scene: &mut MjvScene) {
    let model = simulation.model();
    let Some(body) = model.name_to_id(MjtObjBase::mjOBJ_BODY, SITTING) else { return };
    let middle = simulation.data().xpos()[body];
    let planes = (0..model.geom_type().len()).filter(|geom| model.geom_type()[*geom] == MjtGeomBase::mjGEOM_PLANE);
    let floors = planes.map(|geom| simulation.data().geom_xpos()[geom][2]).filter(|z| *z < middle[2]);
    let Some(floor) = floors.reduce(f64::max) else { return };
    for (from, to, radius, (material, rgba)) in legs(floor - middle[2]) {
        let id = model.name_to_id(MjtObjBase::mjOBJ_MATERIAL, material);
        let rgba = id.map_or(rgba, |id| model.mat_rgba()[id]);
        let [from, to] = [from, to].map(|point| [0, 1, 2].map(|i| point[i] + middle[i]));
        draw_capsule(scene, (from, to, radius), rgba);
    }
}

/// Returns the parts of two legs that stand on the floor, at height `floor` below the body.
fn legs(floor: f64) -> Vec<PersonPart> {
    let leg = |side: f64| {
        let (hip, knee) = ([0.0, 0.085 * side, HIPS_M], [-0.40, 0.10 * side, HIPS_M + 0.01]);
        let (ankle, toes) = ([-0.37, 0.10 * side, floor + 0.08], [-0.50, 0.11 * side, floor + 0.035]);
        let heel = [-0.36, 0.10 * side, floor + 0.035];
        [(hip, knee, 0.076, TROUSERS), (knee, ankle, 0.052, TROUSERS), (heel, toes, 0.035, SHOES)]
    };
    [-1.0, 1.0].into_iter().flat_map(leg).collect()
}

#[expect(unsafe_code, reason = "MuJoCo's indices of materials and textures are unchecked")]
fn draw_capsule(scene: &mut MjvScene, (from, to, radius): ([f64; 3], [f64; 3], f64), rgba: [f32; 4]) {
    // SAFETY: the geom is neither a flex nor a skin, and keeps the ids -1 (none) that it is created with.
    let created = unsafe { scene.try_create_geom(MjtGeom::mjGEOM_CAPSULE, None, None, None, Some(rgba)) };
    // A scene that is full has enough parts.
    if let Ok(part) = created {
        part.connect(radius, from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::{HIPS_M, MAX_PARTS, legs};

    #[test]
    fn legs_reach_from_the_hips_to_the_floor_and_not_through_it() {
        let parts = legs(-0.74);
        assert!(parts.len() <= MAX_PARTS);
        let points = || parts.iter().flat_map(|(from, to, radius, _)| [(from, radius), (to, radius)]);
        let lowest = points().map(|(point, radius)| point[2] - radius).fold(f64::INFINITY, f64::min);
        assert!((lowest + 0.74).abs() < 1e-9, "{lowest}");
        assert!(points().any(|(point, _)| (point[2] - HIPS_M).abs() < 1e-9));
    }
}
