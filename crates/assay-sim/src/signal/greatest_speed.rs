//! Greatest speed of any part of a group of geoms. A rigid body's speed is greatest at a corner of what encloses it, so the ends
//! and corners of its shapes are enough.

use mujoco_rs::prelude::*;

use super::involved::NOBODY;
use super::{Data, extreme, norm};

/// The points of a group's geoms that are looked at.
pub(crate) struct GreatestSpeed {
    geoms: Vec<usize>,
    /// Geom, and a point in its own frame, m.
    points: Vec<(usize, [f64; 3])>,
    /// Index in `points` of the fastest.
    fastest: u32,
}

impl GreatestSpeed {
    pub(super) fn new(model: &MjModel, geoms: Vec<usize>) -> Self {
        let points =
            geoms.iter().flat_map(|geom| points(model, *geom).into_iter().map(|point| (*geom, point))).collect();
        Self { geoms, points, fastest: NOBODY }
    }

    /// m/s.
    pub(super) fn value(&mut self, data: &Data) -> f64 {
        let twist = |geom: usize| data.object_velocity(MjtObjBase::mjOBJ_GEOM, geom, false);
        let twists: Vec<[f64; 6]> = self.geoms.iter().map(|geom| twist(*geom)).collect();
        let speed = |(geom, point): &(usize, [f64; 3])| {
            let at = self.geoms.iter().position(|other| other == geom).unwrap_or(0);
            speed(twists[at], &data.geom_xmat()[*geom], *point)
        };
        let mut fastest = NOBODY;
        let greatest = extreme(self.points.iter().map(speed), 0.0, &mut fastest);
        self.fastest = fastest;
        greatest
    }

    pub(super) fn who(&self) -> u32 {
        self.fastest
    }

    /// The geom of a point.
    pub(super) fn geom(&self, point: usize) -> Option<usize> {
        self.points.get(point).map(|(geom, _)| *geom)
    }
}

/// Speed of a point of a geom that turns and moves, in m/s.
fn speed([wx, wy, wz, x, y, z]: [f64; 6], turn: &[f64; 9], point: [f64; 3]) -> f64 {
    let world = |row: usize| turn[row] * point[0] + turn[row + 1] * point[1] + turn[row + 2] * point[2];
    let [rx, ry, rz] = [world(0), world(3), world(6)];
    norm(&[x + (wy * rz - wz * ry), y + (wz * rx - wx * rz), z + (wx * ry - wy * rx)])
}

/// The points of a geom in its own frame.
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
