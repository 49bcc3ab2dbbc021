//! Paths that the jail's user can reach, and failures to make one reachable.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::jail_uid;

pub(crate) const OTHERS_ENTER: u32 = 0o001;
pub(crate) const OTHERS_READ: u32 = 0o004;
/// Shifts the bits for others to those for the group.
pub(crate) const GROUP_SHIFT: u32 = 3;

/// Maximum number of files in a tree to copy; the policy runtime has 1500.
pub(crate) const MAX_ENTRIES: usize = 50_000;

/// A path that the jail's user cannot reach.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{at} is closed to other users, but root runs jails as uid 65534, who needs {path}; \
     move it to an open folder, or open it: chmod o+rX {at}"
)]
pub struct ClosedPath {
    /// The path that is needed.
    pub path: PathBuf,
    /// The folder or file that the user may not enter or read.
    pub at: PathBuf,
}

/// A failure to copy a tree for the jail's user.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Reading or writing failed.
    #[error("could not make a copy of {from} that jails can read: {at}")]
    Io {
        /// The original.
        from: PathBuf,
        /// The file at which it failed.
        at: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The tree has too many files.
    #[error("{from} has more than {MAX_ENTRIES} files, too many to copy for jails")]
    TooMany {
        /// The original.
        from: PathBuf,
    },
    /// The tree changed while it was copied.
    #[error("{from} changed while a copy for jails was made")]
    Changed {
        /// The original.
        from: PathBuf,
    },
    /// Other processes replaced the copy repeatedly.
    #[error("other processes keep replacing the copy at {0}")]
    Contended(PathBuf),
    /// The copy could not be reached either.
    #[error("the folder for copies that jails can read is not reachable either")]
    Closed(#[from] ClosedPath),
}

/// Checks that the jail's user can read `path` itself and enter every folder above it. (Files below it are not
/// checked.)
///
/// # Errors
/// [`ClosedPath`] names the first obstacle.
pub fn check_reachable(path: &Path) -> Result<(), ClosedPath> {
    let Some(uid) = jail_uid() else { return Ok(()) };
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for folder in real.ancestors() {
        let Ok(about) = folder.metadata() else { continue };
        let needed = match (folder == real, about.is_dir()) {
            (true, true) => OTHERS_READ | OTHERS_ENTER,
            (true, false) => OTHERS_READ,
            (false, _) => OTHERS_ENTER,
        };
        // The jail's group id equals its user id.
        let needed = if about.gid() == uid { needed << GROUP_SHIFT } else { needed };
        if about.uid() != uid && about.mode() & needed != needed {
            return Err(ClosedPath { path: path.to_owned(), at: folder.to_owned() });
        }
    }
    Ok(())
}
