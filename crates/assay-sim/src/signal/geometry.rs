//! Vectors and distances.

use crate::handle::Data;
use crate::handle::FrameId;

pub(super) fn norm(vector: &[f64]) -> f64 {
    squared_norm(vector).sqrt()
}

pub(super) fn squared_norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum()
}

/// Returns the distance between two points in m.
pub(super) fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    norm(&[b[0] - a[0], b[1] - a[1], b[2] - a[2]])
}

/// Returns the vector from one frame's origin to another's in m.
pub(super) fn between(data: &Data, from: FrameId, to: FrameId) -> [f64; 3] {
    let (from, to) = (from.position(data), to.position(data));
    [to[0] - from[0], to[1] - from[1], to[2] - from[2]]
}

/// Returns the distance between two geoms' bounding spheres in m, a lower bound of the distance between the geoms.
pub(crate) fn sphere_distance(data: &Data, a: usize, b: usize) -> f64 {
    let radius = |geom: usize| data.model().geom_rbound()[geom];
    // MuJoCo marks an unbounded geom (a plane) with radius 0.
    if radius(a) <= 0.0 || radius(b) <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let (pa, pb) = (data.geom_xpos()[a], data.geom_xpos()[b]);
    norm(&[pb[0] - pa[0], pb[1] - pa[1], pb[2] - pa[2]]) - radius(a) - radius(b)
}
