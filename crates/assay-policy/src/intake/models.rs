//! Models that a policy declares: those in its folder are compared with their declaration, the others are left to the
//! caller.

use std::path::{Path, PathBuf};

use assay_model::{DeclaredModel, Sha256Digest};

use super::error::{EntryProblem, IntakeError, ModelProblem};
use super::limits::IntakeLimits;
use super::names::{Clashes, components, is_left_out};

/// Returns the declared models that are not among `files`, the paths in the policy's folder. `hash` returns the digest
/// and size of the file with this index.
pub(super) fn outside(
    declared: &[DeclaredModel],
    files: &[PathBuf],
    limits: &IntakeLimits,
    mut hash: impl FnMut(usize) -> Result<(Sha256Digest, u64), IntakeError>,
) -> Result<Vec<DeclaredModel>, IntakeError> {
    let (mut outside, mut clashes) = (Vec::new(), None);
    for model in declared {
        let parts = parts(model, limits)?;
        if let Some(index) = files.iter().position(|file| file == Path::new(&model.path)) {
            compare(model, hash(index)?)?;
            continue;
        }
        let clashes = clashes.get_or_insert_with(|| of_files(files, limits));
        clashes.add(&parts, false).map_err(|problem| match problem {
            EntryProblem::Duplicate(other) => IntakeError::model(model, ModelProblem::Clash(other)),
            _ => IntakeError::model(model, ModelProblem::Path),
        })?;
        outside.push(model.clone());
    }
    Ok(outside)
}

/// Returns the parts of a model's path, which obeys the rules for the policy's own files.
fn parts<'a>(model: &'a DeclaredModel, limits: &IntakeLimits) -> Result<Vec<&'a str>, IntakeError> {
    let plain = components(&model.path, limits).ok().filter(|parts| !is_left_out(parts) && !model.path.ends_with('/'));
    plain.ok_or_else(|| IntakeError::model(model, ModelProblem::Path))
}

fn of_files(files: &[PathBuf], limits: &IntakeLimits) -> Clashes {
    let mut clashes = Clashes::default();
    for name in files.iter().filter_map(|file| file.to_str()) {
        if let Ok(parts) = components(name, limits) {
            // They were checked against each other before.
            drop(clashes.add(&parts, false));
        }
    }
    clashes
}

fn compare(model: &DeclaredModel, (sha256, size_bytes): (Sha256Digest, u64)) -> Result<(), IntakeError> {
    let problem = if sha256 != model.sha256 {
        ModelProblem::Digest { found: sha256, declared: model.sha256 }
    } else {
        match model.size_bytes {
            Some(declared) if declared != size_bytes => ModelProblem::Size { found: size_bytes, declared },
            _ => return Ok(()),
        }
    };
    Err(IntakeError::model(model, problem))
}
