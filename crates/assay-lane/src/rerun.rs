//! Replays a recorded episode, step by step, from its inputs alone. This restores data that the trace omits (poses,
//! contacts, forces); data in the trace must match to the bit, otherwise the recording is rejected.

use assay_sim::{CompiledScenario, Simulation, WorldError};

use crate::Trace;

/// The reason why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum RerunError {
    /// The trace has no input, or one that the world does not have.
    #[error("the trace has no input column {0:?} that this world has")]
    Input(String),
    /// The physics differ from the recording.
    #[error("the replay differs from the recording: {quantity} at physics step {row}")]
    Deviates {
        /// Physics step, from 0.
        row: usize,
        /// The quantity that differs: `qpos` or `qvel`.
        quantity: &'static str,
    },
    /// The world cannot be rebuilt.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// A replay in progress.
pub(crate) struct Rerun<'a> {
    pub(crate) simulation: Simulation,
    trace: &'a Trace,
    /// Index of each recorded column in the world's inputs.
    index: Vec<usize>,
    inputs: Vec<f64>,
    qpos: Vec<&'a [f64]>,
    qvel: Vec<&'a [f64]>,
}

impl<'a> Rerun<'a> {
    /// Creates a replay at the start of the episode whose world `world_seed` draws.
    pub(crate) fn new(world: &CompiledScenario, world_seed: u64, trace: &'a Trace) -> Result<Self, RerunError> {
        let simulation = world.simulation(world_seed)?;
        let names = simulation.input_names();
        let mut inputs = vec![0.0; names.len()];
        simulation.read_inputs(&mut inputs);
        let find = |name: &String| names.iter().position(|n| n == name).ok_or_else(|| RerunError::Input(name.clone()));
        let index = trace.inputs.names.iter().map(find).collect::<Result<_, _>>()?;
        Ok(Self { simulation, trace, index, inputs, qpos: trace.group("qpos"), qvel: trace.group("qvel") })
    }

    /// Executes physics step `row`, after all before it. Poses and contacts are then those of its start.
    pub(crate) fn step(&mut self, row: usize) -> Result<(), RerunError> {
        for (index, column) in self.index.iter().zip(&self.trace.inputs.columns) {
            self.inputs[*index] = column[row];
        }
        // An episode ends at its first warning, so this row cannot have one.
        drop(self.simulation.step_with(&self.inputs));
        let same = |columns: &[&[f64]], now: &[f64]| {
            columns.len() == now.len()
                && columns.iter().zip(now).all(|(column, x)| column[row].to_bits() == x.to_bits())
        };
        match (same(&self.qpos, self.simulation.qpos()), same(&self.qvel, self.simulation.qvel())) {
            (true, true) => Ok(()),
            (false, _) => Err(RerunError::Deviates { row, quantity: "qpos" }),
            (true, false) => Err(RerunError::Deviates { row, quantity: "qvel" }),
        }
    }
}
