//! Mean acceleration over a window: velocities are compared, because the accelerations of single steps are full of the
//! contact solver's noise.

use std::collections::VecDeque;

use super::{Data, norm};
use crate::handle::FrameId;

/// The last window of a frame's velocities.
pub(crate) struct Acceleration {
    frame: FrameId,
    steps: usize,
    window_s: f64,
    /// Oldest first; empty before the first sample.
    velocities: VecDeque<[f64; 3]>,
}

impl Acceleration {
    pub(super) fn new(frame: FrameId, window_s: f64, timestep_s: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked when the scenario is read"
        )]
        let steps = (window_s / timestep_s).round() as usize;
        Self { frame, steps, window_s, velocities: VecDeque::with_capacity(steps + 1) }
    }

    /// m/s2. Before the first sample the frame counts as having moved as it does then.
    pub(super) fn value(&mut self, data: &Data) -> f64 {
        let [_, _, _, x, y, z] = self.frame.velocity(data);
        let now = [x, y, z];
        if self.velocities.is_empty() {
            self.velocities.resize(self.steps, now);
        }
        let before = self.velocities.pop_front().unwrap_or(now);
        self.velocities.push_back(now);
        norm(&[now[0] - before[0], now[1] - before[1], now[2] - before[2]]) / self.window_s
    }
}
