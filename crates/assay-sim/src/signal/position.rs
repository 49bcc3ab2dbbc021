//! Signals of the poses of frames: distances, coordinates, tilt, and membership in a box.

use assay_scenario::Frame;
use mujoco_rs::prelude::*;

use super::geometry::distance;
use super::physics_signal::{PhysicsSignal, StepState};
use crate::error::WorldError;
use crate::handle::{self, FrameId};

/// Distance between two frames' origins in m.
pub(super) struct PointDistance {
    pub(super) from: FrameId,
    pub(super) to: FrameId,
}

impl PhysicsSignal for PointDistance {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        distance(self.from.position(step.data), self.to.position(step.data))
    }
}

/// A coordinate of a frame's origin in m, world axes.
pub(super) struct Position {
    pub(super) of: FrameId,
    /// Index of the axis, 0 to 2.
    pub(super) axis: usize,
}

impl PhysicsSignal for Position {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        self.of.position(step.data)[self.axis]
    }
}

/// Distance of a frame's origin from its first position in m.
pub(super) struct Displacement {
    pub(super) of: FrameId,
    /// The first position; `None` before the first sample.
    pub(super) start: Option<[f64; 3]>,
}

impl PhysicsSignal for Displacement {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let now = self.of.position(step.data);
        distance(*self.start.get_or_insert(now), now)
    }
}

/// Angle between a frame's z axis and the world's in rad.
pub(super) struct Tilt(pub(super) FrameId);

impl PhysicsSignal for Tilt {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        self.0.rotation(step.data)[8].clamp(-1.0, 1.0).acos()
    }
}

/// Smallest distance of a frame's origin to the walls of a box in m: positive inside, negative outside.
pub(super) struct Geofence {
    pub(super) of: FrameId,
    pub(super) low: [f64; 3],
    pub(super) high: [f64; 3],
}

impl PhysicsSignal for Geofence {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let point = self.of.position(step.data);
        (0..3).map(|i| (point[i] - self.low[i]).min(self.high[i] - point[i])).fold(f64::INFINITY, f64::min)
    }
}

/// Number of frames whose origin lies in a box or on its faces.
pub(super) struct Inside {
    frames: Vec<FrameId>,
    within: usize,
}

impl Inside {
    pub(super) fn resolve(model: &MjModel, of: &[Frame], within: &str, key: &str) -> Result<Self, WorldError> {
        let geom = handle::geom(model, within, key)?;
        if model.geom_type()[geom] != MjtGeomBase::mjGEOM_BOX {
            return Err(WorldError::Missing { key: key.to_owned(), what: format!("geom {within:?} of type box") });
        }
        let frames = of.iter().map(|frame| handle::frame(model, frame, key)).collect::<Result<_, _>>()?;
        Ok(Self { frames, within: geom })
    }
}

impl PhysicsSignal for Inside {
    fn value(&mut self, step: &mut StepState<'_>) -> f64 {
        let data = &*step.data;
        let (centre, half) = (data.geom_xpos()[self.within], data.model().geom_size()[self.within]);
        let turn = data.geom_xmat()[self.within];
        let is_inside = |frame: &&FrameId| {
            let point = frame.position(data);
            let way = [point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]];
            // The axes of the box are the columns of its rotation.
            (0..3).all(|i| (turn[i] * way[0] + turn[3 + i] * way[1] + turn[6 + i] * way[2]).abs() <= half[i])
        };
        #[expect(clippy::cast_precision_loss, reason = "at most a few hundred frames")]
        let count = self.frames.iter().filter(is_inside).count() as f64;
        count
    }
}
