//! Pushes: external forces during an episode.

use assay_scenario::Push;
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle;

/// The pushes that an episode drew, with their bodies' indices.
pub(crate) struct Pushes(Vec<(usize, Push)>);

impl Pushes {
    pub(crate) fn resolve(model: &MjModel, pushes: &[Push]) -> Result<Self, WorldError> {
        let resolve = |push: &Push| Ok((handle::body(model, &push.body, "disturbance.body")?, push.clone()));
        pushes.iter().map(resolve).collect::<Result<_, _>>().map(Self)
    }

    /// Applies the pushes that are active in the physics step about to begin. Several pushes on one body add up.
    pub(crate) fn apply(&self, data: &mut MjData<Box<MjModel>>) {
        let now = data.time();
        let applied = data.xfrc_applied_mut();
        for (body, _) in &self.0 {
            applied[*body] = [0.0; 6];
        }
        for (body, push) in self.0.iter().filter(|(_, push)| (push.from_s..push.until_s).contains(&now)) {
            applied[*body].iter_mut().zip(push.force).for_each(|(slot, force)| *slot += force);
        }
    }
}
