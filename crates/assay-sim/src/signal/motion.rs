//! Signals of the speed of frames.

use mujoco_rs::prelude::*;

use super::geometry::{between, norm};
use super::physics_signal::{PhysicsSignal, StepState};
use crate::handle::FrameId;

/// A frame's linear speed in m/s.
pub(super) struct Speed(pub(super) FrameId);

impl PhysicsSignal for Speed {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        norm(&self.0.velocity(step.data)[3..])
    }
}

/// A frame's angular speed in rad/s.
pub(super) struct AngularSpeed(pub(super) FrameId);

impl PhysicsSignal for AngularSpeed {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        norm(&self.0.velocity(step.data)[..3])
    }
}

/// Creates the signal of one frame's speed relative to another, in m/s.
pub(super) fn relative_speed(model: &MjModel, from: FrameId, to: FrameId) -> Box<dyn PhysicsSignal> {
    if from.is_actor(model) || to.is_actor(model) {
        Box::new(DifferencedSpeed { from, to, before: None, value: 0.0 })
    } else {
        Box::new(RelativeSpeed { from, to })
    }
}

/// Magnitude of the difference of two frames' velocities in m/s.
struct RelativeSpeed {
    from: FrameId,
    to: FrameId,
}

impl PhysicsSignal for RelativeSpeed {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let (from, to) = (self.from.velocity(step.data), self.to.velocity(step.data));
        norm(&[to[3] - from[3], to[4] - from[4], to[5] - from[5]])
    }
}

/// Relative speed of two frames' origins in m/s from differences of their positions, for actors, which have no velocity
/// in MuJoCo.
struct DifferencedSpeed {
    from: FrameId,
    to: FrameId,
    before: Option<(f64, [f64; 3])>,
    value: f64,
}

impl PhysicsSignal for DifferencedSpeed {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let time_s = step.time_s;
        let now = between(step.data, self.from, self.to);
        if let Some((then_s, then)) = self.before
            && time_s > then_s
        {
            self.value = norm(&[now[0] - then[0], now[1] - then[1], now[2] - then[2]]) / (time_s - then_s);
        }
        self.before = Some((time_s, now));
        self.value
    }
}
