//! How many frames are in a box.

use assay_scenario::Frame;
use mujoco_rs::prelude::*;

use super::Data;
use crate::error::WorldError;
use crate::handle::{self, FrameId};

/// Frames, and the box they may be in.
pub(crate) struct Inside {
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

    /// The number of frames with their origin in the box or on its faces.
    pub(super) fn value(&self, data: &Data) -> f64 {
        let (centre, half) = (data.geom_xpos()[self.within], data.model().geom_size()[self.within]);
        let turn = data.geom_xmat()[self.within];
        let is_inside = |frame: &&FrameId| {
            let point = frame.position(data);
            let way = [point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]];
            // Along each axis of the box, a column of its rotation.
            (0..3).all(|i| (turn[i] * way[0] + turn[3 + i] * way[1] + turn[6 + i] * way[2]).abs() <= half[i])
        };
        #[expect(clippy::cast_precision_loss, reason = "at most a few hundred frames")]
        let count = self.frames.iter().filter(is_inside).count() as f64;
        count
    }
}
