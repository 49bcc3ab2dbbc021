//! Writes the evidence of a stepping lane for an episode: the trace, and everything needed to run the same physics
//! independently (the model, the start state, every external input).

use std::fs;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use assay_model::lane::files;
use assay_scenario::Scenario;
use assay_sim::Simulation;

use crate::inputs::Changes;
use crate::npy::{self, NpyArray};
use crate::plots::plots;
use crate::rollout::Rollout;
use crate::{Trace, TraceFileError};

/// Maximum size of an uncompressed trace, in bytes of its doubles: files over 64 MiB are not packed, and would
/// stay large.
const MAX_PLAIN_BYTES: usize = 48 << 20;

/// The reason why an episode's evidence cannot be written: an internal error.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The folder requested by the worker is not a plain name in the scratch.
    #[error("the evidence folder must be a plain name")]
    Folder,
    /// A file system error.
    #[error("could not write an evidence file")]
    Io(#[from] io::Error),
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] TraceFileError),
}

/// Writes the files of `rollout` to `scratch/folder`; `plain` leaves the trace's numbers uncompressed.
pub(crate) fn write(
    scratch: &Path,
    (folder, plain): (&str, bool),
    scenario: &Scenario,
    rollout: &Rollout,
) -> Result<(), EvidenceError> {
    let folder = folder_in(scratch, folder)?;
    fs::create_dir_all(&folder)?;
    let trace = folder.join(files::TRACE);
    let doubles = rollout.trace.rows() * (rollout.trace.columns.len() + rollout.trace.inputs.columns.len());
    if plain && 8 * doubles <= MAX_PLAIN_BYTES {
        rollout.trace.write_plain(&trace)?
    } else {
        rollout.trace.write(&trace)?
    }
    for (name, bytes) in
        derived(scenario, &rollout.trace)?.into_iter().chain(world(&rollout.simulation, &rollout.start_state))
    {
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

/// Returns the files that follow from the trace.
pub(crate) fn derived(scenario: &Scenario, trace: &Trace) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let plots = serde_json::to_vec(&plots(scenario, trace)).map_err(io::Error::from)?;
    let inputs = inputs(&trace.inputs.changes())?;
    Ok(vec![(files::ACTIONS, actions(trace)), (files::INPUTS, inputs), (files::PLOTS, plots)])
}

/// Returns the files that describe the world.
pub(crate) fn world(simulation: &Simulation, start_state: &[f64]) -> [(&'static str, Vec<u8>); 2] {
    let state = start_state.iter().flat_map(|x| x.to_le_bytes()).collect();
    [(files::MODEL, simulation.model_bytes()), (files::STATE, state)]
}

/// Returns the path of the evidence folder that the worker calls `folder`.
pub(crate) fn folder_in(scratch: &Path, folder: &str) -> Result<PathBuf, EvidenceError> {
    let is_name = !folder.is_empty() && folder.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if is_name { Ok(scratch.join(folder)) } else { Err(EvidenceError::Folder) }
}

/// Returns the actions as `[control step, action_dim]`, clipped, as applied.
fn actions(trace: &Trace) -> Vec<u8> {
    let columns = trace.group("action");
    let rows = trace.control_rows();
    let values: Vec<f64> = rows.iter().flat_map(|row| columns.iter().map(|column| column[*row])).collect();
    NpyArray::F64(&values, &[rows.len(), columns.len()]).bytes()
}

/// Returns for each array `G` of MuJoCo's inputs: `G [k, m]`, the values of the m numbers that change, `G_index [m]`,
/// their indices in the (flat) array, and `G_step [k]`, the physics steps from which they apply.
fn inputs(changes: &[Changes]) -> io::Result<Vec<u8>> {
    let shapes: Vec<_> =
        changes.iter().map(|c| ([c.step.len(), c.index.len()], [c.index.len()], [c.step.len()])).collect();
    let arrays: Vec<_> = changes
        .iter()
        .zip(&shapes)
        .flat_map(|(c, (values, index, step))| {
            [
                (c.group.clone(), NpyArray::F64(&c.values, values)),
                (format!("{}_index", c.group), NpyArray::I64(&c.index, index)),
                (format!("{}_step", c.group), NpyArray::I64(&c.step, step)),
            ]
        })
        .collect();
    let mut bytes = Cursor::new(Vec::new());
    npy::write_npz(&mut bytes, &arrays).map_err(npy::io_error)?;
    Ok(bytes.into_inner())
}
