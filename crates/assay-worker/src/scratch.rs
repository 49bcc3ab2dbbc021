//! Folders for temporary files. All of an engine's lie in one folder with a lock, so that the next start recognises and
//! removes what an engine that was killed has left.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use tempfile::TempDir;

const PREFIX: &str = "assay-run-";
const LOCK: &str = "lock";
/// Others (the jail's user) can enter a folder but not list it.
const ENTER_ONLY: u32 = 0o711;
/// Entries of the system's folder for temporary files that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// The folder that holds all others; gone when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    /// Held for as long as the folder is in use: a lock ends with its process, however that ends.
    _lock: File,
}

impl Scratch {
    /// Makes the folder, and removes those of engines that are no more.
    pub(crate) fn new() -> io::Result<Self> {
        let parent = std::env::temp_dir();
        sweep(&parent);
        let folder = make(PREFIX, &parent)?;
        // Under its name only once it is locked, so that nobody takes this folder for one that was left.
        let fresh = folder.path().join("lock.new");
        let lock = File::create_new(&fresh)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        fs::rename(fresh, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    /// The folder itself, for what is removed with it at the latest.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A new folder that disappears when it is dropped.
    pub(crate) fn folder(&self, what: &str) -> io::Result<TempDir> {
        make(&format!("{what}-"), self.folder.path())
    }
}

fn make(prefix: &str, parent: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(ENTER_ONLY)).tempdir_in(parent)
}

fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten().take(MAX_ENTRIES) {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_left(&entry.path()).unwrap_or(false) {
            tracing::info!(folder = %entry.path().display(), "removing what a killed process left");
            // What can't be removed only costs space.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// Ours, and nobody holds its lock.
fn is_left(folder: &Path) -> io::Result<bool> {
    let safe = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(rustix::fs::CWD, folder, safe | OFlags::DIRECTORY, Mode::empty())?;
    let owner = File::from(folder.try_clone()?).metadata()?.uid();
    let lock = openat(&folder, LOCK, safe | OFlags::RDWR | OFlags::NONBLOCK, Mode::empty())?;
    Ok(owner == rustix::process::geteuid().as_raw() && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn only_what_was_left_is_swept() {
        let parent = tempfile::tempdir().unwrap();
        let make_one = |name: &str, with_lock: bool| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("file"), "x").unwrap();
            with_lock.then(|| File::create_new(folder.join(LOCK)).unwrap())
        };
        drop(make_one("assay-run-left", true));
        let used = make_one("assay-run-used", true).unwrap();
        flock(&used, FlockOperation::NonBlockingLockExclusive).unwrap();
        make_one("assay-run-unfinished", false);
        drop(make_one("somebody-elses", true));
        std::os::unix::fs::symlink(parent.path().join("somebody-elses"), parent.path().join("assay-run-link")).unwrap();
        sweep(parent.path());
        let mut names: Vec<_> = fs::read_dir(parent.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["assay-run-link", "assay-run-unfinished", "assay-run-used", "somebody-elses"]);
    }

    #[test]
    fn a_folder_goes_with_its_owner() {
        let scratch = Scratch::new().unwrap();
        let root = scratch.folder.path().to_owned();
        let inner = scratch.folder("lane").unwrap();
        assert_eq!(fs::metadata(inner.path()).unwrap().mode() & 0o777, ENTER_ONLY);
        assert!(!is_left(&root).unwrap(), "in use");
        drop(scratch);
        assert!(!root.exists());
    }
}
