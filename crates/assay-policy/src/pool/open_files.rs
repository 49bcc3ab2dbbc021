//! Folders and files that jails can read, independent of the umask.

use std::fs::Permissions;
use std::io::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const OPEN: u32 = 0o755;
const OPEN_FILE: u32 = 0o644;

/// Creates a folder.
pub(super) fn make_open(path: &Path) -> Result<(), Error> {
    std::fs::create_dir(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(OPEN))
}

/// Creates a folder, unless it exists.
pub(super) fn make_open_if_missing(path: &Path) -> Result<(), Error> {
    match make_open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Writes a file.
pub(super) fn write_open(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text)?;
    std::fs::set_permissions(path, Permissions::from_mode(OPEN_FILE))
}
