//! Files of a policy's adapter, checked against its declaration.

use std::io::{self, Read};
use std::path::PathBuf;

use super::error::IntakeError;
use crate::PolicyDeclaration;
use crate::adapter::{self, FileStart};

/// Checks the files of the adapter, if the policy has one. `read` reads the beginning of the file with this index, at
/// most as many bytes as its second argument says.
pub(super) fn check(
    declaration: &PolicyDeclaration,
    files: &[PathBuf],
    read: impl FnMut(usize, usize) -> Result<FileStart, IntakeError>,
) -> Result<(), IntakeError> {
    let Some(adapter) = &declaration.adapter else { return Ok(()) };
    let models: Vec<&str> = declaration.models.iter().map(|model| model.path.as_str()).collect();
    Ok(adapter::check(adapter, files, &models, read)??)
}

/// Reads at most `limit` bytes from the beginning of a file of `total` bytes.
pub(super) fn read_start(source: impl Read, total: u64, limit: usize) -> io::Result<FileStart> {
    let mut bytes = Vec::new();
    source.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(FileStart { bytes, total })
}
