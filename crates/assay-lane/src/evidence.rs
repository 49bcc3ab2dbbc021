//! Writes the evidence of a stepping lane for an episode: the trace, and everything needed to run the same physics
//! independently (the model, the start state, every external input).

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use assay_model::lane::files;
use assay_scenario::Scenario;

use crate::TraceFileError;
use crate::inputs::Changes;
use crate::npy::{self, NpyArray};
use crate::plots::plots;
use crate::rollout::Rollout;

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
    write_actions(&folder.join(files::ACTIONS), rollout)?;
    write_inputs(&folder.join(files::INPUTS), &rollout.trace.inputs.changes())?;
    fs::write(folder.join(files::MODEL), rollout.simulation.model_bytes())?;
    let state: Vec<u8> = rollout.start_state.iter().flat_map(|x| x.to_le_bytes()).collect();
    fs::write(folder.join(files::STATE), state)?;
    let plots = serde_json::to_vec(&plots(scenario, &rollout.trace)).map_err(io::Error::from)?;
    fs::write(folder.join(files::PLOTS), plots)?;
    Ok(())
}

/// Returns the path of the evidence folder that the worker calls `folder`.
pub(crate) fn folder_in(scratch: &Path, folder: &str) -> Result<PathBuf, EvidenceError> {
    let is_name = !folder.is_empty() && folder.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if is_name { Ok(scratch.join(folder)) } else { Err(EvidenceError::Folder) }
}

/// Writes the actions as `[control step, action_dim]`, clipped, as applied.
fn write_actions(path: &Path, rollout: &Rollout) -> io::Result<()> {
    let columns = rollout.trace.group("action");
    let rows = rollout.trace.control_rows();
    let values: Vec<f64> = rows.iter().flat_map(|row| columns.iter().map(|column| column[*row])).collect();
    fs::write(path, NpyArray::F64(&values, &[rows.len(), columns.len()]).bytes())
}

/// Writes for each array `G` of MuJoCo's inputs: `G [k, m]`, the values of the m numbers that change, `G_index [m]`,
/// their indices in the (flat) array, and `G_step [k]`, the physics steps from which they apply.
fn write_inputs(path: &Path, changes: &[Changes]) -> io::Result<()> {
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
    let mut writer = BufWriter::new(File::create(path)?);
    npy::write_npz(&mut writer, &arrays).map_err(npy::io_error)?;
    writer.flush()
}
