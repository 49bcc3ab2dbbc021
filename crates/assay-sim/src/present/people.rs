//! People of whom a scene has only what a robot can touch: their pictures also show legs, which are out of reach, and
//! hands and forearms inside the shapes that are touched.

use mujoco_rs::prelude::*;

use crate::Simulation;
use crate::present::hands::{HandFrame, forearm, hand};
use crate::present::shapes::{DrawnShape, REPLACED, Surface, draw};

/// Name of the body of a person who sits, whose z axis points upwards and who looks along -x.
const SITTING: &str = "torso";
/// Names of the geoms of the arm that moves.
const MOVING: [&str; 2] = ["hand", "forearm"];
/// Height of the hips above that body, in m.
const HIPS_M: f64 = -0.19;
/// Maximum height of a hand that rests above that body, in m.
const REST_M: f64 = 0.2;
/// Clothes: their materials, and the colour without one.
const TROUSERS: (&str, [f32; 4]) = ("trousers", [0.17, 0.21, 0.30, 1.0]);
const SHOES: (&str, [f32; 4]) = ("shoes", [0.10, 0.10, 0.11, 1.0]);

/// A part: from, to (m, in the body's frame), radius (m), and its material.
type PersonPart = ([f64; 3], [f64; 3], f64, (&'static str, [f32; 4]));

/// A hand and its forearm, as geoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arm {
    hand: usize,
    forearm: usize,
}

/// Hides the hands and forearms that [`complete`] draws. Only the geoms' group changes.
pub(crate) fn hide(model: &mut MjModel) {
    for Arm { hand, forearm } in arms(model) {
        model.geom_group_mut()[hand] = REPLACED;
        model.geom_group_mut()[forearm] = REPLACED;
    }
}

/// Adds what pictures show of a person who sits: legs down to the floor below, hands and forearms.
pub(crate) fn complete(simulation: &Simulation, scene: &mut MjvScene) {
    let model = simulation.model();
    let Some(body) = sitting(model) else { return };
    for arm in arms(model) {
        let surface = Surface::of(model, arm.hand);
        let Some((frame, half_m)) = frame(simulation, body, arm) else { continue };
        let parts = forearm(half_m).into_iter().chain(hand());
        parts.for_each(|part| draw(scene, frame.place(part), surface));
    }
    let middle = simulation.data().xpos()[body];
    let planes = (0..model.geom_type().len()).filter(|geom| model.geom_type()[*geom] == MjtGeomBase::mjGEOM_PLANE);
    let floors = planes.map(|geom| simulation.data().geom_xpos()[geom][2]).filter(|z| *z < middle[2]);
    let Some(floor) = floors.reduce(f64::max) else { return };
    for (from, to, radius, (material, rgba)) in legs(floor - middle[2]) {
        let [from, to] = [from, to].map(|point| [0, 1, 2].map(|i| point[i] + middle[i]));
        draw(scene, DrawnShape::Capsule(from, to, radius), Surface::named(model, material, rgba));
    }
}

/// Returns the body of a person who sits.
fn sitting(model: &MjModel) -> Option<usize> {
    model.name_to_id(MjtObjBase::mjOBJ_BODY, SITTING)
}

/// Returns the arms of a person who sits: the one that moves, and the one whose hand, an ellipsoid, rests.
fn arms(model: &MjModel) -> Vec<Arm> {
    let Some(body) = sitting(model) else { return Vec::new() };
    let is = |geom: usize, kind: MjtGeomBase| model.geom_type()[geom] == kind;
    let named = MOVING.map(|name| model.name_to_id(MjtObjBase::mjOBJ_GEOM, name));
    let moving = match named {
        [Some(hand), Some(forearm)] => Some(Arm { hand, forearm }),
        _ => None,
    };
    let capsules = |arm: &Arm| [arm.hand, arm.forearm].iter().all(|geom| is(*geom, MjtGeomBase::mjGEOM_CAPSULE));
    let own = || (0..model.geom_bodyid().len()).filter(|geom| usize::try_from(model.geom_bodyid()[*geom]) == Ok(body));
    let rests = |geom: &usize| is(*geom, MjtGeomBase::mjGEOM_ELLIPSOID) && model.geom_pos()[*geom][2] < REST_M;
    let resting = own().find(rests).and_then(|hand| {
        let distance =
            |geom: usize| (0..3).map(|i| (model.geom_pos()[geom][i] - model.geom_pos()[hand][i]).powi(2)).sum();
        let bare = own().filter(|geom| is(*geom, MjtGeomBase::mjGEOM_CAPSULE));
        let bare = bare.filter(|geom| model.geom_matid()[*geom] == model.geom_matid()[hand]);
        let nearest = bare.map(|geom| (distance(geom), geom)).min_by(|a: &(f64, usize), b| a.0.total_cmp(&b.0));
        nearest.map(|(_, forearm)| Arm { hand, forearm })
    });
    moving.filter(capsules).into_iter().chain(resting).collect()
}

/// Returns the frame of an arm's hand, in which [`hand`] and [`forearm`] are shaped, and half the forearm's length (m).
fn frame(simulation: &Simulation, body: usize, arm: Arm) -> Option<(HandFrame, f64)> {
    let (model, data) = (simulation.model(), simulation.data());
    let (hand, elbow) = (data.geom_xpos()[arm.hand], data.geom_xpos()[arm.forearm]);
    let turn = data.geom_xmat()[arm.forearm];
    let [radius, half_m, _] = model.geom_size()[arm.forearm];
    let axis = [turn[2], turn[5], turn[8]];
    let ahead: f64 = (0..3).map(|i| axis[i] * (hand[i] - elbow[i])).sum();
    let forward = axis.map(|x| x * ahead.signum());
    // A person who looks along -x has the left hand on the side of -y.
    let is_left = model.geom_pos()[arm.hand][1] < 0.0 && usize::try_from(model.geom_bodyid()[arm.hand]) == Ok(body);
    let end = [0, 1, 2].map(|i| elbow[i] + forward[i] * half_m);
    HandFrame::new(end, forward, is_left, radius).map(|frame| (frame, half_m))
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

#[cfg(test)]
mod tests {
    use super::{HIPS_M, legs};

    #[test]
    fn legs_reach_from_the_hips_to_the_floor_and_not_through_it() {
        let parts = legs(-0.74);
        let points = || parts.iter().flat_map(|(from, to, radius, _)| [(from, radius), (to, radius)]);
        let lowest = points().map(|(point, radius)| point[2] - radius).fold(f64::INFINITY, f64::min);
        assert!((lowest + 0.74).abs() < 1e-9, "{lowest}");
        assert!(points().any(|(point, _)| (point[2] - HIPS_M).abs() < 1e-9));
    }
}
