//! Inputs on disk, by SHA-256, up to a size. What is used longest ago goes first; what running shards need stays.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use assay_model::{Clock, Sha256Digest, SystemClock};

use super::error::ServerCallError;

/// Folder of the cached files.
const FILES: &str = "files";
/// Folder of files that are being fetched.
const INCOMING: &str = "incoming";

/// An error while opening the cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The folder cannot be used.
    #[error("the cache {} can't be used; choose another folder with --cache", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// Another worker uses it.
    #[error("another worker uses the cache {}; give each worker its own folder with --cache", .0.display())]
    InUse(PathBuf),
}

/// The folder of cached inputs. One worker uses it at a time.
#[derive(Debug)]
pub struct InputCache {
    folder: PathBuf,
    limit_bytes: u64,
    /// Held while a file is looked for, fetched or removed.
    turn: Mutex<()>,
    _lock: File,
}

impl InputCache {
    /// Opens the cache in `folder`, which keeps at most `limit_bytes` besides what running shards need.
    ///
    /// # Errors
    /// [`CacheError`].
    pub fn open(folder: &Path, limit_bytes: u64) -> Result<Self, CacheError> {
        let fail = |error| CacheError::Folder(folder.to_owned(), error);
        let create = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        create(folder).map_err(fail)?;
        let lock = File::create(folder.join("lock")).map_err(fail)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(CacheError::InUse(folder.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(fail(error)),
        }
        // Left by a worker that was killed.
        match fs::remove_dir_all(folder.join(INCOMING)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
        create(&folder.join(FILES)).and_then(|()| create(&folder.join(INCOMING))).map_err(fail)?;
        Ok(Self { folder: folder.to_owned(), limit_bytes, turn: Mutex::default(), _lock: lock })
    }

    /// Returns the cache's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the file with this hash; `fetch` writes it if it is not here. Files in `needed` stay.
    pub(super) fn get(
        &self,
        sha256: Sha256Digest,
        needed: &HashSet<Sha256Digest>,
        fetch: impl FnOnce(&Path) -> Result<(), ServerCallError>,
    ) -> Result<PathBuf, ServerCallError> {
        let path = self.folder.join(FILES).join(sha256.to_string());
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(file) = File::open(&path) {
            file.set_modified(SystemClock.now().into())?;
            return Ok(path);
        }
        let incoming = tempfile::tempdir_in(self.folder.join(INCOMING))?;
        let fetched = incoming.path().join("file");
        fetch(&fetched)?;
        fs::rename(&fetched, &path)?;
        self.evict(sha256, needed)?;
        Ok(path)
    }

    /// Removes the files used longest ago until the rest fits.
    fn evict(&self, fresh: Sha256Digest, needed: &HashSet<Sha256Digest>) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.folder.join(FILES))? {
            let entry = entry?;
            let about = entry.metadata()?;
            files.push((about.modified()?, about.len(), entry.path()));
        }
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in files {
            if bytes <= self.limit_bytes {
                break;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let stays = name.parse().is_ok_and(|digest: Sha256Digest| digest == fresh || needed.contains(&digest));
            if !stays {
                fs::remove_file(&path)?;
                bytes -= length;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn digest(byte: u8) -> Sha256Digest {
        Sha256Digest::new([byte; 32])
    }

    #[test]
    fn files_are_fetched_once_and_the_oldest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = InputCache::open(folder.path(), 25).unwrap();
        let needed = HashSet::from([digest(1)]);
        let get = |byte: u8| {
            let mut fetched = false;
            cache
                .get(digest(byte), &needed, |path| {
                    fetched = true;
                    Ok(fs::write(path, [byte; 10])?)
                })
                .unwrap();
            fetched
        };
        assert!(get(1) && get(2) && !get(1) && !get(2));
        assert!(get(3), "30 bytes are too many: 2 is the oldest that is not needed");
        assert!(!get(1) && !get(3) && get(2));
        let failed = cache.get(digest(9), &needed, |_| Err(ServerCallError::LeaseLost));
        assert!(matches!(failed, Err(ServerCallError::LeaseLost)));
        assert!(get(9), "a failed fetch leaves nothing");
        assert!(matches!(InputCache::open(folder.path(), 25), Err(CacheError::InUse(_))));
        drop(cache);
        InputCache::open(folder.path(), 25).unwrap();
    }
}
