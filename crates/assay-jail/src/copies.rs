//! Copies that processes share: named by the digest of their content, used under a shared lock, removed under an
//! exclusive one.
//!
//! The folder is closed to other users, except that the jail's user may pass through it to a copy whose name it knows.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::fstat;

use crate::jail_uid;
use crate::reachable::{StageError, check_reachable};
use crate::tree::Tree;

/// Maximum total size of copies that no process uses, in bytes.
const MAX_UNUSED_BYTES: u64 = 8 << 30;
/// Maximum number of copies that no process uses: those of some versions of the program and its runtimes.
const MAX_UNUSED: usize = 256;
/// Attempts while other processes copy or remove the same tree.
pub(crate) const TRIES: usize = 64;
/// Pause after an attempt during which another process held the lock.
const RETRY_PAUSE: Duration = Duration::from_millis(5);
/// Write permission of group and others.
pub(crate) const OTHERS_WRITE: u32 = 0o022;
/// Mode of the folder: only its group, the jail's user, may pass through it, and nobody may list it.
const PRIVATE: u32 = 0o710;
/// Suffix of the name of a lock.
const LOCK: &str = "lock";
/// Suffix of the name of an incomplete copy.
const INCOMPLETE: &str = "new";

/// The time for which a copy is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyLifetime {
    /// Removed when it is no longer used: a scenario may be private, and is small.
    WhileUsed,
    /// Kept for the next process, within the limits for unused copies: programs and runtimes.
    Lasting,
}

/// A path that the jail's user can read: the original, or a copy, which is not removed before this value is dropped.
#[derive(Debug, Clone)]
pub struct JailPath {
    path: PathBuf,
    _copy: Option<Arc<CopyLock>>,
}

impl Deref for JailPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for JailPath {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// A path that the jail's user can already read.
impl From<PathBuf> for JailPath {
    fn from(path: PathBuf) -> Self {
        Self { path, _copy: None }
    }
}

impl PartialEq for JailPath {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for JailPath {}

/// The shared lock of a copy in use.
#[derive(Debug)]
struct CopyLock {
    file: File,
    target: PathBuf,
    lifetime: CopyLifetime,
}

impl Drop for CopyLock {
    fn drop(&mut self) {
        if self.lifetime == CopyLifetime::WhileUsed {
            drop(self.file.unlock());
            remove_if_unused(&self.target);
        }
    }
}

/// Returns the copy of the tree at `path` below `cache_root`, which is made if there is none with this content.
pub(crate) fn shared_copy(
    path: &Path,
    tree: &Tree,
    cache_root: &Path,
    lifetime: CopyLifetime,
) -> Result<JailPath, StageError> {
    let digest = tree.digest(path)?;
    let failed = |at: &Path, source| StageError::Io { from: path.to_owned(), at: at.to_owned(), source };
    private_folder(cache_root).map_err(|source| failed(cache_root, source))?;
    let target = cache_root.join(digest.to_string());
    for _ in 0..TRIES {
        let lock = open_lock(&target).and_then(|lock| lock.lock_shared().map(|()| lock));
        let lock = lock.map_err(|source| failed(&target, source))?;
        if is_current(&lock, &target) && target.symlink_metadata().is_ok() {
            touch(&lock);
            check_reachable(&target)?;
            let lock = CopyLock { file: lock, target: target.clone(), lifetime };
            return Ok(JailPath { path: target, _copy: Some(Arc::new(lock)) });
        }
        drop(lock);
        let made = exclusively(&target, |lock| {
            let copied = tree.copy(path, &incomplete(&target))?;
            if copied != digest {
                return Err(StageError::Changed { from: path.to_owned() });
            }
            note(lock, tree.bytes, lifetime).map_err(|source| failed(&target, source))?;
            std::fs::rename(incomplete(&target), &target).map_err(|source| failed(&target, source))
        });
        made.map_err(|source| failed(&target, source))?.unwrap_or(Ok(()))?;
        clean_up(cache_root, &target);
    }
    Err(StageError::Contended(target))
}

/// Creates the folder, or closes one that exists: earlier versions left it open.
fn private_folder(folder: &Path) -> io::Result<()> {
    folder.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    let made = DirBuilder::new().mode(PRIVATE).create(folder);
    let about = folder.symlink_metadata().map_err(|error| made.err().unwrap_or(error))?;
    let is_own = about.is_dir() && about.uid() == rustix::process::geteuid().as_raw();
    if !is_own || about.mode() & OTHERS_WRITE != 0 {
        let problem = "it belongs to another user, or others may write to it; remove it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    std::os::unix::fs::chown(folder, None, jail_uid())?;
    std::fs::set_permissions(folder, Permissions::from_mode(PRIVATE))
}

pub(crate) fn lock_of(target: &Path) -> PathBuf {
    target.with_extension(LOCK)
}

/// Returns the path of a copy that is being made.
pub(crate) fn incomplete(target: &Path) -> PathBuf {
    target.with_extension(INCOMPLETE)
}

pub(crate) fn open_lock(target: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).open(lock_of(target))
}

/// Returns true if the lock's file still has its name: a copy is removed together with its lock.
pub(crate) fn is_current(lock: &File, target: &Path) -> bool {
    let there = std::fs::symlink_metadata(lock_of(target)).map(|about| about.ino());
    fstat(lock).is_ok_and(|held| there.is_ok_and(|ino| ino == held.st_ino))
}

/// Makes a copy with `make` under its exclusive lock, unless it exists or another process holds the lock (then `None`).
/// A copy that was not completed is removed.
pub(crate) fn exclusively<E>(
    target: &Path,
    make: impl FnOnce(&mut File) -> Result<(), E>,
) -> io::Result<Option<Result<(), E>>> {
    let mut lock = open_lock(target)?;
    match lock.try_lock() {
        Ok(()) => {}
        // Another process is copying, or has copied and keeps its shared lock: waiting for that one could take forever.
        Err(TryLockError::WouldBlock) => {
            std::thread::sleep(RETRY_PAUSE);
            return Ok(None);
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    if !is_current(&lock, target) || target.symlink_metadata().is_ok() {
        return Ok(None);
    }
    // Remove the leftovers of a killed process.
    remove(&incomplete(target));
    let made = make(&mut lock);
    if made.is_err() {
        remove(&incomplete(target));
    }
    Ok(Some(made))
}

/// Writes into a lock how large its copy is, and how long it is kept.
fn note(lock: &mut File, bytes: u64, lifetime: CopyLifetime) -> io::Result<()> {
    let word = if lifetime == CopyLifetime::Lasting { "lasting" } else { "while used" };
    lock.set_len(0)?;
    lock.write_all(format!("{bytes} {word}").as_bytes())
}

/// Marks the time of use, by which the oldest copies are found.
fn touch(lock: &File) {
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let _ = rustix::fs::futimens(lock, &rustix::fs::Timestamps { last_access: now, last_modification: now });
}

/// Removes copies that no process uses, except `kept`: those that a killed process left, and the oldest beyond the
/// limits. Best effort: a leftover only takes up space.
pub(crate) fn clean_up(folder: &Path, kept: &Path) {
    let mut unused: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for target in targets(folder).filter(|target| target != kept) {
        let Ok(mut lock) = open_lock(&target) else { continue };
        if lock.try_lock().is_err() || !is_current(&lock, &target) {
            continue;
        }
        let mut text = String::new();
        drop(lock.read_to_string(&mut text));
        let used = lock.metadata().and_then(|about| about.modified());
        match (text.split_once(' '), used) {
            (Some((bytes, "lasting")), Ok(used)) if target.symlink_metadata().is_ok() => {
                unused.push((used, bytes.parse().unwrap_or(0), target));
            }
            _ => remove_locked(&target),
        }
    }
    unused.sort_unstable();
    let (mut count, mut bytes) = (unused.len(), unused.iter().map(|(_, bytes, _)| bytes).sum::<u64>());
    for (_, size, target) in unused {
        if count <= MAX_UNUSED && bytes <= MAX_UNUSED_BYTES {
            break;
        }
        remove_if_unused(&target);
        (count, bytes) = (count - 1, bytes.saturating_sub(size));
    }
}

/// Returns the paths of the copies in a folder, complete or not.
pub(crate) fn targets(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let paths = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|suffix| suffix == LOCK)).map(|path| path.with_extension(""))
}

/// Removes a copy unless a process uses it.
pub(crate) fn remove_if_unused(target: &Path) {
    let Ok(lock) = open_lock(target) else { return };
    if lock.try_lock().is_ok() && is_current(&lock, target) {
        remove_locked(target);
    }
}

/// Removes a copy whose exclusive lock the caller holds, and the lock last.
fn remove_locked(target: &Path) {
    remove(target);
    remove(&incomplete(target));
    drop(std::fs::remove_file(lock_of(target)));
}

fn remove(path: &Path) {
    drop(std::fs::remove_dir_all(path).or_else(|_| std::fs::remove_file(path)));
}
