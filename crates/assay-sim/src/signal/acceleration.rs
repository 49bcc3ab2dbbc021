//! Signals of acceleration over a window, computed from differences of velocity, because the accelerations of single
//! steps are dominated by the contact solver's noise.

use std::collections::VecDeque;

use mujoco_rs::prelude::*;

use super::geometry::norm;
use super::physics_signal::{PhysicsSignal, StepState};
use crate::handle::Data;
use crate::handle::FrameId;

/// A frame's velocities over the last window.
struct Window {
    frame: FrameId,
    window_s: f64,
    steps: usize,
    /// Oldest first; empty before the first sample.
    velocities: VecDeque<[f64; 3]>,
}

impl Window {
    fn new(frame: FrameId, window_s: f64, timestep_s: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked when the scenario is read"
        )]
        let steps = (window_s / timestep_s).round() as usize;
        Self { frame, window_s, steps, velocities: VecDeque::with_capacity(steps + 1) }
    }

    /// Adds the current velocity and returns its change over the window in m/s. Before the first sample, the frame is
    /// assumed to have had the velocity of that sample.
    fn push(&mut self, data: &Data) -> [f64; 3] {
        let [_, _, _, x, y, z] = self.frame.velocity(data);
        let now = [x, y, z];
        if self.velocities.is_empty() {
            self.velocities.resize(self.steps, now);
        }
        let before = self.velocities.pop_front().unwrap_or(now);
        self.velocities.push_back(now);
        minus(now, before)
    }
}

/// Magnitude of the mean acceleration in m/s2.
pub(super) struct Acceleration(Window);

impl Acceleration {
    pub(super) fn new(frame: FrameId, window_s: f64, timestep_s: f64) -> Self {
        Self(Window::new(frame, window_s, timestep_s))
    }
}

impl PhysicsSignal for Acceleration {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        norm(&self.0.push(step.data)) / self.0.window_s
    }
}

/// Angle in rad between a frame's z axis and the apparent vertical, the normal of a liquid's surface; a right angle in
/// free fall.
pub(super) struct ApparentTilt {
    window: Window,
    gravity: [f64; 3],
}

impl ApparentTilt {
    pub(super) fn new(model: &MjModel, frame: FrameId, window_s: f64, timestep_s: f64) -> Self {
        Self { window: Window::new(frame, window_s, timestep_s), gravity: model.opt().gravity }
    }
}

impl PhysicsSignal for ApparentTilt {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let change = self.window.push(step.data);
        let up = [0, 1, 2].map(|i| change[i] / self.window.window_s - self.gravity[i]);
        let m = self.window.frame.rotation(step.data);
        let axis = [m[2], m[5], m[8]];
        let across =
            [axis[1] * up[2] - axis[2] * up[1], axis[2] * up[0] - axis[0] * up[2], axis[0] * up[1] - axis[1] * up[0]];
        let along = axis[0] * up[0] + axis[1] * up[1] + axis[2] * up[2];
        if norm(&up) > 0.0 { norm(&across).atan2(along) } else { std::f64::consts::FRAC_PI_2 }
    }
}

/// Mean magnitude of the acceleration in m/s2.
pub(super) struct Agitation {
    window: Window,
    /// Velocity at the previous sample.
    before: Option<[f64; 3]>,
    /// Changes of velocity from sample to sample, oldest first, in m/s.
    changes: VecDeque<f64>,
}

impl Agitation {
    pub(super) fn new(frame: FrameId, window_s: f64, timestep_s: f64) -> Self {
        Self { window: Window::new(frame, window_s, timestep_s), before: None, changes: VecDeque::new() }
    }
}

impl PhysicsSignal for Agitation {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let [_, _, _, x, y, z] = self.window.frame.velocity(step.data);
        let now = [x, y, z];
        let before = self.before.replace(now).unwrap_or(now);
        self.changes.push_back(norm(&minus(now, before)));
        if self.changes.len() > self.window.steps {
            self.changes.pop_front();
        }
        self.changes.iter().sum::<f64>() / self.window.window_s
    }
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}
