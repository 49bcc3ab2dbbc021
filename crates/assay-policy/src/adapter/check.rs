//! The files that an adapter's declaration names, compared with the policy's files.

use std::path::PathBuf;

use super::checkpoint::Checkpoint;
use super::declaration::{AdapterInput, AdapterKind, PolicyAdapter, StatisticsSource};
use super::error::AdapterError;
use super::files::{FileStart, PolicyFiles, missing};

/// Error of [`check`]: the author's, or that of reading.
pub(super) type Checked<E> = Result<Result<(), AdapterError>, E>;

/// Checks that the files that `adapter` names exist among `files`, the paths in the policy's folder, or, for a model,
/// among `models`, the paths of declared ones. The parts of a checkpoint that need no runtime are checked too.
///
/// # Errors
/// Those of `read`. The problem of the author is the inner result.
pub(crate) fn check<E>(
    adapter: &PolicyAdapter,
    files: &[PathBuf],
    models: &[&str],
    mut read: impl FnMut(usize, usize) -> Result<FileStart, E>,
) -> Checked<E> {
    let folder = PolicyFiles { files, models };
    let statistics = adapter.inputs.iter().map(|AdapterInput { statistics, .. }| statistics);
    for source in statistics.chain([&adapter.action.statistics]).flatten() {
        if let StatisticsSource::File(file) = source
            && folder.find(file).is_none()
        {
            return Ok(Err(missing(file)));
        }
    }
    match &adapter.kind {
        AdapterKind::Onnx { model } => Ok(if folder.has(model) { Ok(()) } else { Err(missing(model)) }),
        AdapterKind::Lerobot { checkpoint } => {
            Checkpoint::read(&folder, checkpoint, &mut read).map(|read| read.and_then(|read| read.check(adapter)))
        }
    }
}
