//! Signals of progress along a course: waypoints reached and openings crossed.

use super::geometry::{between, norm};
use super::physics_signal::{PhysicsSignal, StepState};
use crate::handle::Data;
use crate::handle::FrameId;

/// Number of frames of a list that have been reached in order.
pub(super) struct Visited {
    pub(super) of: FrameId,
    pub(super) frames: Vec<FrameId>,
    pub(super) radius: f64,
    pub(super) reached: usize,
}

impl PhysicsSignal for Visited {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        if let Some(next) = self.frames.get(self.reached)
            && norm(&between(step.data, self.of, *next)) <= self.radius
        {
            self.reached += 1;
        }
        self.reached as f64
    }
}

/// Number of openings of a list that have been crossed in order. Crossing means passing through the rectangle in
/// its direction, not merely approaching its centre.
pub(super) struct Crossed {
    of: FrameId,
    frames: Vec<FrameId>,
    /// Half the width (along the frames' y axis) and height (along z), m.
    half_size: [f64; 2],
    reached: usize,
    /// Its position at the previous sample, in the axes of the next opening.
    before: Option<[f64; 3]>,
}

impl Crossed {
    pub(super) fn new(of: FrameId, frames: Vec<FrameId>, half_size: [f64; 2]) -> Self {
        Self { of, frames, half_size, reached: 0, before: None }
    }
}

impl PhysicsSignal for Crossed {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        if let Some(next) = self.frames.get(self.reached) {
            let now = position_in(step.data, *next, self.of);
            let before = self.before.replace(now);
            if before.is_some_and(|before| crosses(before, now, self.half_size)) {
                self.reached += 1;
                self.before = None;
            }
        }
        self.reached as f64
    }
}

/// Returns true if the straight line from `before` to `now` passes through the rectangle around the origin of the y-z
/// plane, along x.
fn crosses(before: [f64; 3], now: [f64; 3], half_size: [f64; 2]) -> bool {
    if !(before[0] < 0.0 && now[0] >= 0.0) {
        return false;
    }
    let share = before[0] / (before[0] - now[0]);
    (0..2).all(|i| (before[i + 1] + share * (now[i + 1] - before[i + 1])).abs() <= half_size[i])
}

/// Returns the origin of `of` in the axes of `frame`, m.
fn position_in(data: &Data, frame: FrameId, of: FrameId) -> [f64; 3] {
    let (origin, point, m) = (frame.position(data), of.position(data), frame.rotation(data));
    let way = [point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]];
    // The axes of the frame are the columns of its rotation.
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
        assert!(!crosses([-0.2, 0.0, 0.0], [-0.01, 0.0, 0.0], half), "near, but not through");
        assert!(!crosses([0.0, 0.0, 0.0], [0.1, 0.0, 0.0], half), "counted when it reached the plane");
        assert!(!crosses([-0.1, 0.35, 0.0], [0.1, 0.35, 0.0], half), "beside it");
        assert!(!crosses([-0.1, 0.0, 0.25], [0.1, 0.0, 0.25], half), "above it");
        // Inside the rectangle at the end of the step, but outside where it crossed the plane.
        assert!(!crosses([-0.3, 0.6, 0.0], [0.1, 0.2, 0.0], half));
    }
}
