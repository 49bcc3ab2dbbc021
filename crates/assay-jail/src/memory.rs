//! Copies shared folders to memory.
//!
//! The kernel caches which missing names were looked up in a disk's file system, and which pages were read, so two
//! jails that see the same folder can exchange bits through the time of a lookup or read. tmpfs caches neither: it
//! keeps no entry for a missing name (`simple_lookup` in the kernel's `fs/libfs.c`), and all its pages are resident.

use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{statfs, statvfs};

use crate::copies::{OTHERS_WRITE, TRIES, exclusively, incomplete, is_current, open_lock, remove_if_unused, targets};
use crate::jail_uid;
use crate::reachable::{StageError, check_reachable};
use crate::tree::Tree;

/// The environment variable that names a folder on a tmpfs, instead of `/dev/shm`.
pub const MEMORY_VARIABLE: &str = "ASSAY_MEMORY_DIR";
/// The tmpfs of every Linux system (`shm_overview(7)`).
const SHARED_MEMORY: &str = "/dev/shm";
/// `TMPFS_MAGIC` of `statfs(2)`.
const TMPFS: i64 = 0x0102_1994;
/// Space that a copy leaves free, in bytes.
const SPARE_BYTES: u64 = 16 << 20;

/// The reason why a copy in memory could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The folder is not on a tmpfs, or does not exist.
    #[error("{0} is not a folder on a tmpfs; set {MEMORY_VARIABLE} to one")]
    NotMemory(PathBuf),
    /// Not enough space: Docker provides 64 MiB unless `--shm-size` sets another size.
    #[error(
        "{at} has {free_mib} MiB free, but {needed_mib} MiB are needed; enlarge it, or set {MEMORY_VARIABLE} to another"
    )]
    NoRoom {
        /// The path of the tmpfs.
        at: PathBuf,
        /// Free space in MiB.
        free_mib: u64,
        /// Space that a copy needs, in MiB.
        needed_mib: u64,
    },
    /// The folder belongs to another user.
    #[error("{0} belongs to another user, or others may write to it; remove it")]
    Foreign(PathBuf),
    /// Other processes replaced it repeatedly.
    #[error("other processes keep replacing the copy at {0}")]
    Contended(PathBuf),
    /// Reading the original or writing the copy failed.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A folder or lock could not be used.
    #[error("could not use {0}")]
    Io(PathBuf, #[source] std::io::Error),
}

/// A tree in memory, and the lock that keeps other processes from removing it.
#[derive(Debug)]
pub struct MemoryCopy {
    /// The path of the copy.
    pub path: PathBuf,
    _lock: Option<File>,
}

/// Returns a copy of the tree at `path` on a tmpfs, which the jail's user can read. It is made once per state of the
/// original (its files and their times of change) and stays there for the next process; unused copies of other states
/// are removed.
///
/// # Errors
/// [`MemoryError`] if there is no tmpfs, it is full, or copying fails.
pub fn stage_in_memory(path: &Path) -> Result<MemoryCopy, MemoryError> {
    let tree = Tree::read(path)?;
    if is_memory(path) && tree.is_open && check_reachable(path).is_ok() {
        return Ok(MemoryCopy { path: path.to_owned(), _lock: None });
    }
    let memory = std::env::var_os(MEMORY_VARIABLE).map_or_else(|| SHARED_MEMORY.into(), PathBuf::from);
    if !is_memory(&memory) {
        return Err(MemoryError::NotMemory(memory));
    }
    let folder = own_folder(&memory)?;
    let kind = path.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
    // The name of a lock has another suffix than that of its copy.
    let kind = kind.replace('.', "_");
    let key = tree.key(path)?;
    let target = folder.join(format!("{kind}-{key}"));
    for _ in 0..TRIES {
        let lock = open_lock(&target).and_then(|lock| lock.lock_shared().map(|()| lock));
        let lock = lock.map_err(|e| MemoryError::Io(target.clone(), e))?;
        if is_current(&lock, &target) && target.is_dir() {
            remove_unused(&folder, &kind, &target);
            check_reachable(&target).map_err(StageError::from)?;
            return Ok(MemoryCopy { path: target, _lock: Some(lock) });
        }
        drop(lock);
        copy(path, (&tree, &key), &target)?;
    }
    Err(MemoryError::Contended(target))
}

fn is_memory(path: &Path) -> bool {
    statfs(path).is_ok_and(|about| about.f_type == TMPFS)
}

/// Creates or checks the folder for this user's copies, which no other user may have created.
fn own_folder(memory: &Path) -> Result<PathBuf, MemoryError> {
    let uid = rustix::process::geteuid().as_raw();
    let folder = memory.join(format!("assay-{uid}"));
    let mode = if jail_uid().is_some() { 0o755 } else { 0o700 };
    let made = DirBuilder::new().mode(mode).create(&folder);
    let about = folder.symlink_metadata().map_err(|e| MemoryError::Io(folder.clone(), made.err().unwrap_or(e)))?;
    if !about.is_dir() || about.uid() != uid || about.mode() & OTHERS_WRITE != 0 {
        return Err(MemoryError::Foreign(folder));
    }
    // Set explicitly, since the umask may restrict it.
    std::fs::set_permissions(&folder, Permissions::from_mode(mode)).map_err(|e| MemoryError::Io(folder.clone(), e))?;
    Ok(folder)
}

/// Makes the copy under the exclusive lock, unless another process holds the lock.
fn copy(from: &Path, (tree, key): (&Tree, &str), target: &Path) -> Result<(), MemoryError> {
    let made = exclusively(target, |_| {
        let folder = target.parent().unwrap_or(target);
        let about = statvfs(folder).map_err(|e| MemoryError::Io(folder.to_owned(), e.into()))?;
        let (free, needed) = (about.f_bavail.saturating_mul(about.f_frsize), tree.bytes.saturating_add(SPARE_BYTES));
        if free < needed {
            let (free_mib, needed_mib) = (free >> 20, needed >> 20);
            return Err(MemoryError::NoRoom { at: folder.to_owned(), free_mib, needed_mib });
        }
        let copied = tree.copy(from, &incomplete(target))?;
        if copied.to_string() != key && !(tree.is_unchanged(from)? && tree.key(from)? == key) {
            return Err(StageError::Changed { from: from.to_owned() }.into());
        }
        std::fs::rename(incomplete(target), target).map_err(|e| MemoryError::Io(target.to_owned(), e))
    });
    made.map_err(|e| MemoryError::Io(target.to_owned(), e))?.unwrap_or(Ok(()))
}

/// Removes copies of earlier states that no process uses. Best effort: a leftover only takes up memory.
fn remove_unused(folder: &Path, kind: &str, current: &Path) {
    let is_kind = |target: &PathBuf| {
        target.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{kind}-")))
    };
    targets(folder).filter(|target| is_kind(target) && target != current).for_each(|target| remove_if_unused(&target));
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::copies::lock_of;

    fn tree(text: &str) -> tempfile::TempDir {
        let folder = tempfile::Builder::new().prefix("staged").tempdir().unwrap();
        std::fs::create_dir(folder.path().join("lib")).unwrap();
        std::fs::write(folder.path().join("lib/file"), text).unwrap();
        folder
    }

    #[test]
    fn a_copy_is_made_once_and_removed_when_outdated_and_unused() {
        let original = tree("old");
        let first = stage_in_memory(original.path()).unwrap();
        let again = stage_in_memory(original.path()).unwrap();
        assert_eq!(first.path, again.path);
        assert!(is_memory(&first.path));
        assert_eq!(std::fs::read_to_string(first.path.join("lib/file")).unwrap(), "old");
        let old = first.path.clone();

        std::fs::write(original.path().join("lib/file"), "a newer one").unwrap();
        let newer = stage_in_memory(original.path()).unwrap();
        assert!(newer.path != old && old.is_dir(), "the old copy is still in use");
        drop((first, again));
        drop(stage_in_memory(original.path()).unwrap());
        assert!(!old.exists() && !lock_of(&old).exists());
        std::fs::remove_dir_all(&newer.path).unwrap();
        std::fs::remove_file(lock_of(&newer.path)).unwrap();
    }

    #[test]
    fn a_tree_with_the_same_names_sizes_and_times_and_other_content_is_copied_anew() {
        let (first, second) = (tree("limit 9"), tree("limit 1"));
        let twin = second.path().join("twin");
        std::fs::create_dir(&twin).unwrap();
        let place = twin.join(first.path().file_name().unwrap());
        std::fs::create_dir_all(place.join("lib")).unwrap();
        std::fs::write(place.join("lib/file"), "limit 1").unwrap();
        let copies = [first.path(), &place].map(|path| {
            let file = File::options().write(true).open(path.join("lib/file")).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
            stage_in_memory(path).unwrap()
        });
        let texts = copies.each_ref().map(|copy| std::fs::read_to_string(copy.path.join("lib/file")).unwrap());
        assert_eq!(texts, ["limit 9", "limit 1"]);
        for copy in &copies {
            std::fs::remove_dir_all(&copy.path).unwrap();
            std::fs::remove_file(lock_of(&copy.path)).unwrap();
        }
    }

    #[test]
    fn a_tree_that_was_long_unchanged_is_not_read_to_know_it() {
        let fresh = tree("fresh");
        let key = |path: &Path| Tree::read(path).unwrap().key(path).unwrap();
        assert_eq!(key(fresh.path()), Tree::read(fresh.path()).unwrap().digest(fresh.path()).unwrap().to_string());
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let state = key(&sources);
        assert!(state.starts_with('s') && state == key(&sources), "{state}");
    }

    #[test]
    fn concurrent_threads_get_the_same_complete_copy() {
        let original = tree("together");
        let staged: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| stage_in_memory(original.path()).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for copy in &staged {
            assert_eq!(std::fs::read_to_string(copy.path.join("lib/file")).unwrap(), "together");
        }
        std::fs::remove_dir_all(&staged[0].path).unwrap();
        std::fs::remove_file(lock_of(&staged[0].path)).unwrap();
    }

    #[test]
    fn a_late_copier_does_not_wait_for_the_owner_of_a_copy() {
        let original = tree("late");
        let owned = stage_in_memory(original.path()).unwrap();
        // The behaviour of a thread that found no copy just before one was made.
        let tree = Tree::read(original.path()).unwrap();
        copy(original.path(), (&tree, &tree.key(original.path()).unwrap()), &owned.path).unwrap();
        std::fs::remove_dir_all(&owned.path).unwrap();
        std::fs::remove_file(lock_of(&owned.path)).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let memory = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let folder = memory.path().join(format!("assay-{uid}"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert!(matches!(own_folder(memory.path()), Err(MemoryError::Foreign(path)) if path == folder));
        std::fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink("/", &folder).unwrap();
        assert!(matches!(own_folder(memory.path()), Err(MemoryError::Foreign(path)) if path == folder));
    }
}
