//! A signal of the physics, and the state that it is computed from.

use mujoco_rs::prelude::*;

use super::groups::Groups;
use super::involved::NOT_INVOLVED;
use crate::handle::Data;

/// The state from which signals are computed: that of the start of a physics step.
pub(crate) struct StepState<'a> {
    /// MuJoCo's data after the step; its positions and forces belong to the step's start.
    pub(crate) data: &'a mut Data,
    pub(crate) groups: &'a Groups,
    /// Positions at the step's start.
    pub(crate) qpos: &'a [f64],
    /// Velocities at the step's start.
    pub(crate) qvel: &'a [f64],
    /// The action in effect, clipped.
    pub(crate) action: &'a [f64],
    /// Simulated time of the step's start.
    pub(crate) time_s: f64,
}

/// A signal computed from the physics.
pub(crate) trait PhysicsSignal: Send + Sync {
    /// Computes the value, in the unit of [`Signal::unit`].
    fn value(&mut self, step: &mut StepState<'_>) -> f64;

    /// Returns a number for the bodies or the joint that determined the last value, which [`Self::involved_names`]
    /// decodes.
    fn involved(&self) -> u32 {
        NOT_INVOLVED
    }

    /// Returns the names of the bodies or of the joint for a number of [`Self::involved`], or no names for
    /// [`NOT_INVOLVED`].
    fn involved_names(&self, _model: &MjModel, _involved: u32) -> Vec<String> {
        Vec::new()
    }
}
