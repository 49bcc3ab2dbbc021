//! Intake of an untrusted policy or scenario: all checks precede unpacking, and every unpacked byte is counted.

mod accepted;
mod adapters;
mod archive;
mod bytes;
mod declared;
mod directory;
mod error;
mod folder;
mod fullest;
mod left_out;
mod limits;
mod links;
mod locals;
mod models;
mod names;
mod other_format;
mod write;
mod zip64;

use std::path::Path;

pub use accepted::{Intake, left_out_warning};
pub use archive::check_archive;
pub use error::{EntryProblem, IntakeError, ModelProblem};
pub use limits::{
    ArchiveKind, IntakeLimits, MAX_DEPTH, MAX_ENTRIES, MAX_RATIO, MAX_SCENARIO_BYTES, MAX_SCENARIO_ENTRIES,
    MAX_UNPACKED_BYTES,
};

use error::io;

/// Checks the policy or scenario at `path` (a zip archive, a folder, or one `.py` file) and unpacks it into `dest`,
/// which must not exist yet and has `policy.py`, `policy.toml` or `scenario.toml` at its root afterwards. Hidden files,
/// `__pycache__`, `__MACOSX`, `node_modules` and virtual environments are left out. On any error `dest` is removed.
///
/// # Errors
/// [`IntakeError`]; [`IntakeError::is_internal`] distinguishes internal failures from the author's.
pub fn intake(path: &Path, dest: &Path, limits: &IntakeLimits) -> Result<Intake, IntakeError> {
    let about = std::fs::metadata(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => IntakeError::NotFound { path: path.to_owned() },
        _ => io(path)(source),
    })?;
    std::fs::create_dir(dest).map_err(io(dest))?;
    let taken = if about.is_dir() {
        folder::take(path, dest, limits)
    } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("py")) {
        folder::take_file(path, dest, limits)
    } else {
        archive::take(path, dest, limits)
    };
    if taken.is_err() {
        // An error of the removal is ignored: the first error is the one to report.
        drop(std::fs::remove_dir_all(dest));
    }
    taken
}
