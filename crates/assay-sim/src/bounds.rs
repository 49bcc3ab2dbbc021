//! Bounding volumes of a geom whose size was drawn. MuJoCo computes them at compile time, and would miss contacts of a
//! geom that has grown beyond them.

use mujoco_rs::prelude::*;
use nalgebra::{Quaternion, UnitQuaternion, Vector3};

/// Updates the bounding sphere and box of geom `id`, and the boxes of its body's tree.
pub(crate) fn update(model: &mut MjModel, id: usize) {
    let [x, y, z] = model.geom_size()[id];
    let (half, radius) = match model.geom_type()[id] {
        MjtGeomBase::mjGEOM_SPHERE => ([x, x, x], x),
        MjtGeomBase::mjGEOM_CAPSULE => ([x, x, x + y], x + y),
        MjtGeomBase::mjGEOM_CYLINDER => ([x, x, y], x.hypot(y)),
        MjtGeomBase::mjGEOM_ELLIPSOID => ([x, y, z], x.max(y).max(z)),
        MjtGeomBase::mjGEOM_BOX => ([x, y, z], (x * x + y * y + z * z).sqrt()),
        // Planes have no bounds, and those of meshes and height fields come from data that a draw never changes.
        _ => return,
    };
    model.geom_rbound_mut()[id] = radius;
    model.geom_aabb_mut()[id][3..].copy_from_slice(&half);
    grow_tree(model, id, radius);
}

/// Enlarges the boxes from the geom's leaf to the root so that they contain its bounding sphere. Boxes that are too
/// large only cost time.
fn grow_tree(model: &mut MjModel, id: usize, radius: f64) {
    let index = |i: i32| usize::try_from(i).ok();
    let Some(body) = index(model.geom_bodyid()[id]) else { return };
    let (Some(first), Some(count)) = (index(model.body_bvhadr()[body]), index(model.body_bvhnum()[body])) else {
        return;
    };
    let centre = in_inertial_frame(model, body, model.geom_pos()[id]);
    let leaf = (first..first + count).find(|node| index(model.bvh_nodeid()[*node]) == Some(id));
    let mut next = leaf;
    // The depth of a tree is at most its number of nodes.
    for _ in 0..count {
        let Some(node) = next else { return };
        widen(&mut model.bvh_aabb_mut()[node], centre, radius);
        let is_parent =
            |parent: &usize| model.bvh_child()[*parent].iter().any(|c| index(*c).map(|c| first + c) == Some(node));
        next = (first..first + count).find(is_parent);
    }
}

/// Converts a point to the body's inertial frame, in which the boxes of its tree are expressed.
fn in_inertial_frame(model: &MjModel, body: usize, point: [f64; 3]) -> Vector3<f64> {
    let [w, x, y, z] = model.body_iquat()[body];
    let turn = UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z));
    turn.inverse() * (Vector3::from(point) - Vector3::from(model.body_ipos()[body]))
}

/// Enlarges `bounds` (centre, half sizes) to the smallest box that contains it and the sphere.
fn widen(bounds: &mut [f64; 6], centre: Vector3<f64>, radius: f64) {
    for axis in 0..3 {
        let low = (bounds[axis] - bounds[3 + axis]).min(centre[axis] - radius);
        let high = (bounds[axis] + bounds[3 + axis]).max(centre[axis] + radius);
        bounds[axis] = (low + high) / 2.0;
        bounds[3 + axis] = (high - low) / 2.0;
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may stop here")]
    use super::*;

    const GROWN: f64 = 0.04;

    /// Returns the number of contacts between a growing post and an arm beside it, each with `others` geoms farther
    /// away.
    fn contacts(others: [usize; 2], moving: bool, disable: i32) -> usize {
        let more = |count: usize, x: f64| -> String {
            (0..count).map(|i| format!("<geom size='0.01' pos='{x} {} 0'/>", i as f64 * 0.1)).collect()
        };
        let joint = if moving { "<freejoint/>" } else { "" };
        let xml = format!(
            "<mujoco><worldbody>
               <body name='post' euler='20 30 40'>{joint}<geom name='post' type='capsule' size='0.02 0.17' pos='0.1 0 0'/>{}</body>
               <body name='arm' euler='20 30 40'><freejoint/><geom size='0.03' pos='0.165 0 0'/>{}</body>
             </worldbody></mujoco>",
            more(others[0], -0.3),
            more(others[1], 0.5)
        );
        let mut model = MjModel::from_xml_string(&xml).unwrap();
        let post = model.name_to_id(MjtObjBase::mjOBJ_GEOM, "post").unwrap();
        model.geom_size_mut()[post][0] = GROWN;
        update(&mut model, post);
        model.opt_mut().disableflags |= disable;
        let mut data = MjData::new(Box::new(model));
        data.forward();
        data.contact().len()
    }

    #[test]
    fn a_grown_geom_has_contacts_regardless_of_other_geoms_of_its_body() {
        for post in 0..5 {
            for arm in 0..5 {
                for moving in [false, true] {
                    let all = contacts([post, arm], moving, MjtDisableBit::mjDSBL_MIDPHASE as i32);
                    assert!(all >= 1, "the two overlap by 5 mm");
                    assert_eq!(contacts([post, arm], moving, 0), all, "{post} and {arm} other geoms, moving: {moving}");
                }
            }
        }
    }
}
