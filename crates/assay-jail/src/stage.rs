//! Makes files reachable for the jail's user. If this process is root, jails run as the user `nobody`, which cannot
//! enter a folder such as /root; the files are then copied to a folder that this user can pass through and others
//! can't. A copy is named by the digest of its content, and what was written must have that digest: a report states
//! the digest of the original.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::copies::{CopyLifetime, JailPath, shared_copy};
use crate::jail_uid;
use crate::reachable::{GROUP_SHIFT, OTHERS_ENTER, OTHERS_READ, StageError, check_reachable};
use crate::tree::Tree;

/// Returns the folder for [`stage_readable`]'s copies, which only this user and the jail's can pass through.
#[must_use]
pub fn default_cache_root() -> PathBuf {
    PathBuf::from("/var/cache/assay")
}

/// Changes the owner of a folder or file to the jail's user, so that a jail can write there.
///
/// # Errors
/// The owner cannot be changed.
pub fn give_to_jail(path: &Path) -> std::io::Result<()> {
    let Some(uid) = jail_uid() else { return Ok(()) };
    std::os::unix::fs::lchown(path, Some(uid), Some(uid))
}

/// Lets the jail's user read the file `path` and enter the folders above it, up to and including `root`; other users
/// gain nothing. The files' owner stays the same.
///
/// # Errors
/// A group or mode cannot be changed.
pub fn open_to_jail(path: &Path, root: &Path) -> std::io::Result<()> {
    let Some(group) = jail_uid() else { return Ok(()) };
    for place in path.ancestors().take_while(|place| place.starts_with(root)) {
        let about = place.symlink_metadata()?;
        let needed = (if about.is_dir() { OTHERS_ENTER } else { OTHERS_READ }) << GROUP_SHIFT;
        // Only the group of places that are closed to others is changed.
        let is_open = about.mode() & (needed >> GROUP_SHIFT) != 0;
        if !is_open && (about.gid() != group || about.mode() & needed == 0) {
            std::os::unix::fs::lchown(place, None, Some(group))?;
            std::fs::set_permissions(place, std::fs::Permissions::from_mode(about.mode() & 0o700 | needed))?;
        }
    }
    Ok(())
}

/// Returns a path with the same content that the jail's user can read: `path` itself if all of it is open, otherwise a
/// copy below `cache_root`, which exists as long as a process uses it.
///
/// # Errors
/// [`StageError`] if it cannot be read or copied.
pub fn stage_readable(path: &Path, cache_root: &Path) -> Result<JailPath, StageError> {
    staged(path, cache_root, CopyLifetime::WhileUsed)
}

/// Like [`stage_readable`], for programs and runtimes: the copy stays for the next process, within limits.
///
/// # Errors
/// As for [`stage_readable`].
pub fn stage_lasting(path: &Path, cache_root: &Path) -> Result<JailPath, StageError> {
    staged(path, cache_root, CopyLifetime::Lasting)
}

fn staged(path: &Path, cache_root: &Path, lifetime: CopyLifetime) -> Result<JailPath, StageError> {
    if jail_uid().is_none() {
        return Ok(path.to_owned().into());
    }
    let tree = Tree::read(path)?;
    if tree.is_open && check_reachable(path).is_ok() {
        return Ok(path.to_owned().into());
    }
    shared_copy(path, &tree, cache_root, lifetime)
}
