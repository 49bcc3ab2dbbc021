//! Outcome of the episode loop.

use assay_model::lane::Done;
use assay_sim::Simulation;

use crate::Trace;

/// A completed episode with its recording.
#[derive(Debug)]
pub(crate) struct Rollout {
    pub(crate) done: Done,
    pub(crate) trace: Trace,
    /// The simulator's integration state before the first step, and its model.
    pub(crate) start_state: Vec<f64>,
    pub(crate) simulation: Simulation,
}
