//! Signals of geoms near each other: the distance between two groups, and the speed of approach.

use mujoco_rs::prelude::*;

use super::geometry::{norm, sphere_distance};
use super::involved::{NOT_INVOLVED, pair_names, pair_number};
use super::physics_signal::{PhysicsSignal, StepState};
use crate::handle::Data;

/// Distance between the nearest points up to which the direction between them is undefined, m.
const TOUCHING_M: f64 = 1e-9;

/// Minimum signed distance over pairs of geoms in m, at most `cutoff`.
pub(crate) struct Distance {
    pairs: Vec<(usize, usize)>,
    cutoff: f64,
    /// Index of the nearest pair at the previous step.
    nearest: usize,
    involved: u32,
}

impl Distance {
    pub(crate) fn new(pairs: Vec<(usize, usize)>, cutoff: f64) -> Self {
        Self { pairs, cutoff, nearest: 0, involved: NOT_INVOLVED }
    }
}

impl PhysicsSignal for Distance {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let least = distance(step.data, &self.pairs, self.cutoff, &mut self.nearest);
        let near = self.pairs.get(self.nearest).filter(|_| least < self.cutoff);
        self.involved = near.map_or(NOT_INVOLVED, |(a, b)| pair_number(step.groups, *a, *b));
        least
    }

    fn involved(&self) -> u32 {
        self.involved
    }

    fn involved_names(&self, model: &MjModel, involved: u32) -> Vec<String> {
        pair_names(model, involved)
    }
}

/// Returns the minimum distance over the pairs. The nearest pair of the previous step is computed first, so that
/// bounding spheres exclude nearly all others without computing the exact distance, which costs a hundred times more.
fn distance(data: &mut Data, pairs: &[(usize, usize)], cutoff: f64, nearest: &mut usize) -> f64 {
    let Some(first) = pairs.get(*nearest) else { return cutoff };
    let mut least = data.geom_distance(first.0, first.1, cutoff, None);
    let start = *nearest;
    for (index, (a, b)) in pairs.iter().enumerate() {
        if index != start && sphere_distance(data, *a, *b) < least {
            let exact = data.geom_distance(*a, *b, least, None);
            if exact < least {
                least = exact;
                *nearest = index;
            }
        }
    }
    least
}

/// Greatest speed in m/s at which a geom moves, by its own motion, towards another one nearer than `within`. The other
/// geom's motion does not count, so that a body at rest approaches nothing.
pub(super) struct ApproachSpeed {
    pairs: Vec<(usize, usize)>,
    /// Geoms farther apart do not count, in m.
    within: f64,
}

impl ApproachSpeed {
    pub(super) fn new(pairs: Vec<(usize, usize)>, within: f64) -> Self {
        Self { pairs, within }
    }
}

impl PhysicsSignal for ApproachSpeed {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let data = &mut *step.data;
        let speed = |(a, b): &(usize, usize)| {
            if sphere_distance(data, *a, *b) >= self.within {
                return 0.0;
            }
            let mut points = [0.0; 6];
            let apart = data.geom_distance(*a, *b, self.within, Some(&mut points));
            if apart < self.within { speed_towards(data, *a, apart, points) } else { 0.0 }
        };
        self.pairs.iter().map(speed).fold(0.0, f64::max)
    }
}

/// Returns the speed at which the first of the two points moves as part of `geom` towards the second one.
fn speed_towards(data: &Data, geom: usize, apart: f64, [px, py, pz, qx, qy, qz]: [f64; 6]) -> f64 {
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
