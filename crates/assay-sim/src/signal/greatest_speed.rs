//! The greatest speed of any point of a group of geoms. The speed of a rigid body is greatest at a corner of its convex
//! hull, so the ends and corners of its shapes suffice.

use mujoco_rs::prelude::*;

use super::geometry::squared_norm;
use super::involved::{NOT_INVOLVED, body_name, decode, greatest_of};
use super::physics_signal::{PhysicsSignal, StepState};

/// Greatest speed in m/s over points of a group's geoms.
pub(super) struct GreatestSpeed {
    geoms: Vec<usize>,
    /// Index in `geoms`, and a point in that geom's own frame, m.
    points: Vec<(usize, [f64; 3])>,
    /// Angular velocity in rad/s and linear velocity in m/s of each geom, in the world's frame.
    twists: Vec<[f64; 6]>,
    /// Index in `points` of the fastest one.
    fastest: u32,
}

impl GreatestSpeed {
    pub(super) fn new(model: &MjModel, geoms: Vec<usize>) -> Self {
        let of = |(index, geom): (usize, &usize)| points(model, *geom).into_iter().map(move |point| (index, point));
        let points = geoms.iter().enumerate().flat_map(of).collect();
        Self { twists: Vec::with_capacity(geoms.len()), geoms, points, fastest: NOT_INVOLVED }
    }
}

impl PhysicsSignal for GreatestSpeed {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let data = &*step.data;
        let twist = |geom: usize| data.object_velocity(MjtObjBase::mjOBJ_GEOM, geom, false);
        self.twists.clear();
        self.twists.extend(self.geoms.iter().map(|geom| twist(*geom)));
        let (frames, twists) = (data.geom_xmat(), &self.twists);
        let square =
            |(index, point): &(usize, [f64; 3])| squared_speed(twists[*index], &frames[self.geoms[*index]], *point);
        let mut greatest_square = 0.0;
        // A root only where it may be the greatest; two different squares may have the same root.
        let speed = |point| {
            let square = square(point);
            if square <= greatest_square {
                return 0.0;
            }
            greatest_square = square;
            square.sqrt()
        };
        let mut fastest = NOT_INVOLVED;
        let greatest = greatest_of(self.points.iter().map(speed), 0.0, &mut fastest);
        self.fastest = fastest;
        greatest
    }

    fn involved(&self) -> u32 {
        self.fastest
    }

    fn involved_names(&self, model: &MjModel, involved: u32) -> Vec<String> {
        let point = decode(involved).and_then(|point| self.points.get(point));
        point.map(|(index, _)| body_name(model, self.geoms[*index])).into_iter().collect()
    }
}

/// Returns the square of the speed of a point of a translating and rotating geom in m²/s².
fn squared_speed([wx, wy, wz, x, y, z]: [f64; 6], turn: &[f64; 9], point: [f64; 3]) -> f64 {
    let world = |row: usize| turn[row] * point[0] + turn[row + 1] * point[1] + turn[row + 2] * point[2];
    let [rx, ry, rz] = [world(0), world(3), world(6)];
    squared_norm(&[x + (wy * rz - wz * ry), y + (wz * rx - wx * rz), z + (wx * ry - wy * rx)])
}

/// Returns the points of a geom in its own frame, m.
fn points(model: &MjModel, geom: usize) -> Vec<[f64; 3]> {
    let [x, y, z] = model.geom_size()[geom];
    match model.geom_type()[geom] {
        MjtGeomBase::mjGEOM_CAPSULE | MjtGeomBase::mjGEOM_CYLINDER => vec![[0.0, 0.0, y], [0.0, 0.0, -y]],
        MjtGeomBase::mjGEOM_BOX => {
            (0..8).map(|corner| [sign(corner, 1) * x, sign(corner, 2) * y, sign(corner, 4) * z]).collect()
        }
        _ => vec![[0.0; 3]],
    }
}

fn sign(corner: u8, bit: u8) -> f64 {
    if corner & bit == 0 { 1.0 } else { -1.0 }
}
