//! A camera as geometry: its axes, the tightest position that frames a set of points, and the projection of a point.

/// Share of half the width that stays free at each side.
const SIDE_MARGIN: f64 = 0.08;
/// Share of half the height that stays free above, where captions are.
const UPPER_MARGIN: f64 = 0.22;
/// Share of half the height that stays free below.
const LOWER_MARGIN: f64 = 0.10;

type Vector = [f64; 3];

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The direction and the lens of a camera without roll.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lens {
    right: Vector,
    up: Vector,
    pub(crate) forward: Vector,
    /// Tangents of half the angles of view: horizontal, vertical.
    half: [f64; 2],
}

impl Lens {
    /// Creates a lens that looks along `azimuth` and `elevation` (radians, as MuJoCo's free camera), with a vertical
    /// angle of view `fovy` (radians) and `aspect` = width / height.
    pub(crate) fn new(azimuth: f64, elevation: f64, fovy: f64, aspect: f64) -> Self {
        let ((sin_a, cos_a), (sin_e, cos_e)) = (azimuth.sin_cos(), elevation.sin_cos());
        let vertical = (fovy / 2.0).tan();
        Self {
            right: [sin_a, -cos_a, 0.0],
            up: [-sin_e * cos_a, -sin_e * sin_a, cos_e],
            forward: [cos_e * cos_a, cos_e * sin_a, sin_e],
            half: [vertical * aspect, vertical],
        }
    }

    /// Returns where `point` is in the picture of a camera at `eye`: from -1 (left, bottom) to 1; `None` behind it.
    pub(crate) fn project(&self, eye: Vector, point: Vector) -> Option<[f64; 2]> {
        let d = [point[0] - eye[0], point[1] - eye[1], point[2] - eye[2]];
        let depth = dot(d, self.forward);
        (depth > 0.0).then(|| [dot(d, self.right) / (depth * self.half[0]), dot(d, self.up) / (depth * self.half[1])])
    }

    /// Returns the part of `vector` that lies in the picture's plane, at most `share` of half the picture's width and
    /// height, where half the height shows `half_height_m`.
    pub(crate) fn within(&self, vector: Vector, half_height_m: f64, share: f64) -> Vector {
        let limit = [half_height_m * self.half[0] / self.half[1], half_height_m].map(|half| half * share);
        let x = dot(vector, self.right).clamp(-limit[0], limit[0]);
        let y = dot(vector, self.up).clamp(-limit[1], limit[1]);
        [0, 1, 2].map(|i| x * self.right[i] + y * self.up[i])
    }

    /// Returns the distance at which half the picture's height shows `half_height_m`.
    pub(crate) fn distance(&self, half_height_m: f64) -> f64 {
        half_height_m / self.half[1]
    }
}

/// The four planes of the tightest view of a set of points. Each plane's offset is the maximum over the points, so a
/// point costs no memory, and the result does not depend on their order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fit {
    lens: Lens,
    /// Offsets of the planes to the right, left, above, below.
    offsets: [f64; 4],
    /// Minimum and maximum depth along the optical axis.
    depths: [f64; 2],
    /// Corners of the box around all points, world axes.
    bounds: [Vector; 2],
}

impl Fit {
    pub(crate) fn new(lens: Lens) -> Self {
        Self {
            lens,
            offsets: [f64::NEG_INFINITY; 4],
            depths: [f64::INFINITY, f64::NEG_INFINITY],
            bounds: [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]],
        }
    }

    /// Tangents of the usable angles: right, left, above, below.
    fn tangents(&self) -> [f64; 4] {
        let [x, y] = self.lens.half;
        let side = x * (1.0 - SIDE_MARGIN);
        [side, side, y * (1.0 - UPPER_MARGIN), y * (1.0 - LOWER_MARGIN)]
    }

    /// Includes a point; one that is not finite is ignored.
    pub(crate) fn include(&mut self, point: Vector) {
        if !point.iter().all(|x| x.is_finite()) {
            return;
        }
        let (x, y) = (dot(point, self.lens.right), dot(point, self.lens.up));
        let z = dot(point, self.lens.forward);
        let tangents = self.tangents();
        for ((offset, tangent), across) in self.offsets.iter_mut().zip(tangents).zip([x, -x, y, -y]) {
            *offset = offset.max(across - tangent * z);
        }
        self.depths = [self.depths[0].min(z), self.depths[1].max(z)];
        let [low, high] = self.bounds;
        self.bounds =
            [[0, 1, 2].map(|axis| low[axis].min(point[axis])), [0, 1, 2].map(|axis| high[axis].max(point[axis]))];
    }

    /// Returns the middle of the box around all points, and half its diagonal in m; `None` without a point.
    pub(crate) fn extent(&self) -> Option<(Vector, f64)> {
        let [low, high] = self.bounds;
        let middle = [0, 1, 2].map(|axis| f64::midpoint(low[axis], high[axis]));
        let half = [0, 1, 2].map(|axis| (high[axis] - low[axis]).powi(2)).iter().sum::<f64>().sqrt() / 2.0;
        (low[0] <= high[0]).then_some((middle, half))
    }

    /// Returns the camera's position and the distance to the middle of the points; `None` without a point.
    pub(crate) fn eye(&self) -> Option<(Vector, f64)> {
        let ([right, left, above, below], t) = (self.offsets, self.tangents());
        if !right.is_finite() {
            return None;
        }
        let z = (-(right + left) / (t[0] + t[1])).min(-(above + below) / (t[2] + t[3]));
        let middle = |low: f64, high: f64| f64::midpoint(low, high);
        let x = middle(right + t[0] * z, -(left + t[1] * z));
        let y = middle(above + t[2] * z, -(below + t[3] * z));
        let axes = (self.lens.right, self.lens.up, self.lens.forward);
        let eye = [0, 1, 2].map(|i| x * axes.0[i] + y * axes.1[i] + z * axes.2[i]);
        Some((eye, f64::midpoint(self.depths[0], self.depths[1]) - z))
    }
}

#[cfg(test)]
mod tests {
    use super::{Fit, Lens};

    #[test]
    fn a_fit_frames_all_points_and_touches_the_margin() {
        for (azimuth, elevation) in [(0.0, 0.0), (2.2, -0.6), (-0.8, -1.2), (4.0, 0.3)] {
            let lens = Lens::new(azimuth, elevation, 0.7, 16.0 / 9.0);
            let points = [[0.3, 0.2, 0.0], [-0.5, 0.1, 0.9], [0.0, 1.4, 0.2], [0.7, -0.6, 1.1], [0.1, 0.1, -0.2]];
            let mut fit = Fit::new(lens);
            points.iter().for_each(|point| fit.include(*point));
            fit.include([f64::NAN, 0.0, 0.0]);
            let (eye, distance) = fit.eye().expect("there are points");
            let seen: Vec<_> = points.iter().map(|p| lens.project(eye, *p).expect("in front")).collect();
            assert!(distance > 0.0);
            let (right, above) = (1.0 - 0.08 + 1e-9, 1.0 - 0.22 + 1e-9);
            assert!(seen.iter().all(|[x, y]| x.abs() <= right && (-right..=above).contains(y)), "{seen:?}");
            let widest = seen.iter().map(|[x, _]| x.abs()).fold(0.0, f64::max);
            let highest = seen.iter().map(|[_, y]| *y).fold(-1.0, f64::max);
            assert!(widest > 0.9 || highest > 0.75, "the picture is used: {seen:?}");
        }
    }

    #[test]
    fn nothing_frames_nothing() {
        let fit = Fit::new(Lens::new(0.0, 0.0, 0.7, 1.0));
        assert_eq!((fit.eye(), fit.extent()), (None, None));
    }

    #[test]
    fn a_lead_stays_in_the_plane_and_within_its_limit() {
        // Looks along x: to the right is -y.
        let lens = Lens::new(0.0, 0.0, 0.7, 2.0);
        let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(lens.within([9.0, 0.1, 0.05], 1.0, 0.3), [0.0, 0.1, 0.05]));
        assert!(near(lens.within([9.0, -5.0, 5.0], 1.0, 0.3), [0.0, -0.6, 0.3]));
    }
}
