//! Folders for temporary files. All those of an engine are in one folder that it keeps locked, so that the next start
//! recognises and removes the files of an engine that was killed.
//!
//! The lock is on the folder itself. A lock file inside could be missing if an engine was killed before creating it, or
//! while removing another's folder; the remaining files would then stay forever.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use tempfile::TempDir;

const PREFIX: &str = "assay-run-";
/// A file that version 0.1.0 held locked instead of the folder.
const OLD_LOCK: &str = "lock";
/// Permissions with which others (the jail's user) can enter a folder but not list it.
const ENTER_ONLY: u32 = 0o711;
/// Maximum number of entries of the system's temporary folder to inspect.
const MAX_ENTRIES: usize = 100_000;
/// Maximum number of tries: another engine may remove a new folder as abandoned before it is locked.
const MAX_TRIES: u32 = 16;

/// The folder that contains all others; removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    /// The open folder, locked as long as it is in use: the lock ends with its process, however that ends.
    _lock: File,
}

impl Scratch {
    /// Creates the folder, and removes those of engines that no longer run.
    pub(crate) fn new() -> io::Result<Self> {
        let parent = std::env::temp_dir();
        sweep(&parent);
        Self::within(&parent)
    }

    fn within(parent: &Path) -> io::Result<Self> {
        for _ in 0..MAX_TRIES {
            let folder = make(PREFIX, parent)?;
            let lock = locked(folder.path());
            if let Some(lock) = lock.filter(|_| folder.path().exists()) {
                return Ok(Self { folder, _lock: lock });
            }
        }
        Err(io::Error::other(format!("{MAX_TRIES} new folders for temporary files were removed by other processes")))
    }

    /// Returns the folder itself, for files that may stay until it is removed.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Creates a folder that is removed when dropped.
    pub(crate) fn folder(&self, what: &str) -> io::Result<TempDir> {
        make(&format!("{what}-"), self.folder.path())
    }
}

fn make(prefix: &str, parent: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(ENTER_ONLY)).tempdir_in(parent)
}

fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().take(MAX_ENTRIES) {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // Locked until it is removed, so that only one engine removes it.
        if let Some(_lock) = locked(&entry.path()) {
            tracing::info!(folder = %entry.path().display(), "removing temporary files of a killed process");
            // A folder that cannot be removed only costs space; the next start tries again.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// Locks and returns the folder, if it belongs to this user and is not in use.
fn locked(folder: &Path) -> Option<File> {
    let safe = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(openat(rustix::fs::CWD, folder, safe | OFlags::DIRECTORY, Mode::empty()).ok()?);
    let is_own = folder.metadata().is_ok_and(|about| about.uid() == rustix::process::geteuid().as_raw());
    let lock = |file: &File| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
    let old = openat(&folder, OLD_LOCK, safe | OFlags::RDWR | OFlags::NONBLOCK, Mode::empty());
    let is_free = old.map_or(true, |old| lock(&File::from(old)));
    (is_own && is_free && lock(&folder)).then_some(folder)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::path::PathBuf;

    use super::*;

    fn folder(parent: &Path, name: &str) -> PathBuf {
        let folder = parent.join(name);
        fs::create_dir_all(folder.join("lane-x")).unwrap();
        fs::write(folder.join("lane-x/file"), "x").unwrap();
        folder
    }

    #[test]
    fn only_abandoned_folders_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| folder(parent.path(), name);
        at("assay-run-left");
        let used = locked(&at("assay-run-used")).unwrap();
        let old = |name: &str| File::create_new(at(name).join(OLD_LOCK)).unwrap();
        drop(old("assay-run-old-left"));
        let used_by_old = old("assay-run-old-used");
        flock(&used_by_old, FlockOperation::NonBlockingLockExclusive).unwrap();
        at("unrelated");
        std::os::unix::fs::symlink(parent.path().join("unrelated"), parent.path().join("assay-run-link")).unwrap();
        sweep(parent.path());
        let mut names: Vec<_> = fs::read_dir(parent.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["assay-run-link", "assay-run-old-used", "assay-run-used", "unrelated"]);
        drop((used, used_by_old));
    }

    #[test]
    fn a_folder_is_removed_when_its_owner_is_dropped() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::within(parent.path()).unwrap();
        let root = scratch.folder.path().to_owned();
        let inner = scratch.folder("lane").unwrap();
        assert_eq!(fs::metadata(inner.path()).unwrap().mode() & 0o777, ENTER_ONLY);
        sweep(parent.path());
        assert!(inner.path().exists(), "in use");
        drop(scratch);
        assert!(!root.exists());
    }

    #[test]
    fn engines_that_start_at_the_same_time_keep_each_others_folders() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        sweep(parent.path());
                        let scratch = Scratch::within(parent.path()).unwrap();
                        fs::write(scratch.path().join("file"), "x").unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
