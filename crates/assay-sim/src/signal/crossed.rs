//! Openings crossed: through the rectangle and in its direction, not merely near its middle.

use super::Data;
use crate::handle::FrameId;

/// How many openings of a list have been crossed, in its order.
pub(crate) struct Crossed {
    of: FrameId,
    frames: Vec<FrameId>,
    /// Half the width (along the frames' y axis) and height (along z), m.
    half_size: [f64; 2],
    reached: usize,
    /// Where it was at the sample before, in the axes of the next opening.
    before: Option<[f64; 3]>,
}

impl Crossed {
    pub(super) fn new(of: FrameId, frames: Vec<FrameId>, half_size: [f64; 2]) -> Self {
        Self { of, frames, half_size, reached: 0, before: None }
    }

    pub(super) fn value(&mut self, data: &Data) -> f64 {
        if let Some(next) = self.frames.get(self.reached) {
            let now = seen_from(data, *next, self.of);
            let before = self.before.replace(now);
            if before.is_some_and(|before| crosses(before, now, self.half_size)) {
                self.reached += 1;
                self.before = None;
            }
        }
        self.reached as f64
    }
}

/// Whether the straight way from `before` to `now` goes through the rectangle around the origin of the y-z plane, along x.
fn crosses(before: [f64; 3], now: [f64; 3], half_size: [f64; 2]) -> bool {
    if !(before[0] < 0.0 && now[0] >= 0.0) {
        return false;
    }
    let share = before[0] / (before[0] - now[0]);
    (0..2).all(|i| (before[i + 1] + share * (now[i + 1] - before[i + 1])).abs() <= half_size[i])
}

/// The origin of `of` in the axes of `frame`, m.
fn seen_from(data: &Data, frame: FrameId, of: FrameId) -> [f64; 3] {
    let (origin, point, m) = (frame.position(data), of.position(data), frame.rotation(data));
    let way = [point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]];
    // Along each axis of the frame, a column of its rotation.
    [0, 1, 2].map(|i| m[i] * way[0] + m[3 + i] * way[1] + m[6 + i] * way[2])
}

#[cfg(test)]
mod tests {
    use super::crosses;

    #[test]
    fn an_opening_is_crossed_through_its_rectangle_and_along_its_axis() {
        let half = [0.3, 0.2];
        assert!(crosses([-0.1, 0.0, 0.0], [0.1, 0.2, 0.0], half));
        assert!(crosses([-0.1, 0.28, -0.19], [0.0, 0.3, -0.2], half), "the edge belongs to it");
        assert!(!crosses([0.1, 0.0, 0.0], [-0.1, 0.0, 0.0], half), "the wrong way round");
        assert!(!crosses([-0.2, 0.0, 0.0], [-0.01, 0.0, 0.0], half), "near is not through");
        assert!(!crosses([0.0, 0.0, 0.0], [0.1, 0.0, 0.0], half), "it was counted when it came to the plane");
        assert!(!crosses([-0.1, 0.35, 0.0], [0.1, 0.35, 0.0], half), "beside it");
        assert!(!crosses([-0.1, 0.0, 0.25], [0.1, 0.0, 0.25], half), "above it");
        // Inside at the end of the step, outside where it met the plane.
        assert!(!crosses([-0.3, 0.6, 0.0], [0.1, 0.2, 0.0], half));
    }
}
