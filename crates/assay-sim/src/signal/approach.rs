//! How fast something moves, by itself, towards something else. The other side's motion does not count, so that whoever
//! stands still approaches nobody.

use mujoco_rs::prelude::*;

use super::{Data, norm, sphere_distance};

/// Nearest points that are no farther apart have no direction from one to the other, m.
const TOUCHING_M: f64 = 1e-9;

/// Pairs of geoms, and how near they must be to count.
pub(crate) struct Approach {
    pairs: Vec<(usize, usize)>,
    within: f64,
}

impl Approach {
    pub(super) fn new(pairs: Vec<(usize, usize)>, within: f64) -> Self {
        Self { pairs, within }
    }

    /// m/s.
    pub(super) fn value(&self, data: &mut Data) -> f64 {
        let near = |(a, b): &(usize, usize)| {
            if sphere_distance(data, *a, *b) >= self.within {
                return 0.0;
            }
            let mut points = [0.0; 6];
            let apart = data.geom_distance(*a, *b, self.within, Some(&mut points));
            if apart < self.within { towards(data, *a, apart, points) } else { 0.0 }
        };
        self.pairs.iter().map(near).fold(0.0, f64::max)
    }
}

/// Speed at which the first of `points` moves as part of `geom`, towards the second one.
fn towards(data: &Data, geom: usize, apart: f64, [px, py, pz, qx, qy, qz]: [f64; 6]) -> f64 {
    let [wx, wy, wz, x, y, z] = data.object_velocity(MjtObjBase::mjOBJ_GEOM, geom, false);
    let centre = data.geom_xpos()[geom];
    let [rx, ry, rz] = [px - centre[0], py - centre[1], pz - centre[2]];
    let velocity = [x + (wy * rz - wz * ry), y + (wz * rx - wx * rz), z + (wx * ry - wy * rx)];
    let way = [qx - px, qy - py, qz - pz];
    let length = norm(&way);
    if apart <= 0.0 || length <= TOUCHING_M {
        return norm(&velocity);
    }
    let along = velocity[0] * way[0] + velocity[1] * way[1] + velocity[2] * way[2];
    (along / length).max(0.0)
}
