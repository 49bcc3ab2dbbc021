//! Inputs on disk, by SHA-256, up to a total size. The least recently used are removed first; those that running shards
//! need stay.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use assay_model::{Clock, RuntimeVersion, Sha256Digest, SystemClock};
use assay_policy::InstalledRuntime;

use super::error::ServerCallError;

/// Folder of the cached files.
const FILES: &str = "files";
/// Folder of runtimes: NAME-SHA256, and an empty file NAME-SHA256.used, whose modification time is that of the last
/// use.
const RUNTIMES: &str = "runtimes";
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
    /// Held while files are looked for, added or removed.
    turn: Mutex<()>,
    /// Held while a file is fetched, one for each file that is waited for.
    fetching: Mutex<HashMap<Sha256Digest, Weak<Mutex<()>>>>,
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
        [FILES, INCOMING, RUNTIMES].iter().try_for_each(|name| create(&folder.join(name))).map_err(fail)?;
        Ok(Self {
            folder: folder.to_owned(),
            limit_bytes,
            turn: Mutex::default(),
            fetching: Mutex::default(),
            _lock: lock,
        })
    }

    /// Returns the cache's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of the runtimes in the cache in `folder`.
    #[must_use]
    pub fn runtimes(folder: &Path) -> PathBuf {
        folder.join(RUNTIMES)
    }

    /// Keeps a runtime; `fetch` writes it to a new folder unless `is_here` is true. Otherwise as [`Self::get`].
    pub(super) fn keep_runtime(
        &self,
        version: &RuntimeVersion,
        is_here: impl Fn() -> bool,
        needed: impl FnOnce() -> HashSet<Sha256Digest>,
        fetch: impl FnOnce(&Path) -> Result<PathBuf, ServerCallError>,
    ) -> Result<(), ServerCallError> {
        let fetching = self.fetching(version.sha256);
        let _fetching = lock(&fetching);
        let place = self.folder.join(RUNTIMES).join(format!("{}-{}", version.name, version.sha256));
        if !is_here() {
            let incoming = tempfile::tempdir_in(self.folder.join(INCOMING))?;
            let fetched = fetch(incoming.path())?;
            let _turn = lock(&self.turn);
            if place.exists() {
                // It is not a complete runtime.
                fs::rename(&place, incoming.path().join("incomplete"))?;
            }
            fs::rename(&fetched, &place)?;
        }
        if place.is_dir() {
            let _turn = lock(&self.turn);
            File::create(used(&place))?.set_modified(SystemClock.now().into())?;
            self.evict(version.sha256, &needed())?;
        }
        Ok(())
    }

    /// Returns the path of the file with this hash; `fetch` writes it if it is not here. Files in `needed`, which is
    /// called while the cache is locked, stay. Does not wait for other files.
    pub(super) fn get(
        &self,
        sha256: Sha256Digest,
        needed: impl FnOnce() -> HashSet<Sha256Digest>,
        fetch: impl FnOnce(&Path) -> Result<(), ServerCallError>,
    ) -> Result<PathBuf, ServerCallError> {
        let path = self.folder.join(FILES).join(sha256.to_string());
        let fetching = self.fetching(sha256);
        let _fetching = lock(&fetching);
        {
            let _turn = lock(&self.turn);
            if let Ok(file) = File::open(&path) {
                file.set_modified(SystemClock.now().into())?;
                return Ok(path);
            }
        }
        let incoming = tempfile::tempdir_in(self.folder.join(INCOMING))?;
        let fetched = incoming.path().join("file");
        fetch(&fetched)?;
        let _turn = lock(&self.turn);
        fs::rename(&fetched, &path)?;
        self.evict(sha256, &needed())?;
        Ok(path)
    }

    /// Returns the lock that is held while a file is fetched.
    fn fetching(&self, sha256: Sha256Digest) -> Arc<Mutex<()>> {
        let mut fetching = lock(&self.fetching);
        fetching.retain(|_, other| other.strong_count() > 0);
        let known = fetching.get(&sha256).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let new = Arc::new(Mutex::default());
            fetching.insert(sha256, Arc::downgrade(&new));
            new
        })
    }

    /// Removes the least recently used files and runtimes until the rest fits.
    fn evict(&self, fresh: Sha256Digest, needed: &HashSet<Sha256Digest>) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.folder.join(FILES))? {
            let entry = entry?;
            let about = entry.metadata()?;
            files.push((about.modified()?, about.len(), entry.path()));
        }
        for entry in fs::read_dir(self.folder.join(RUNTIMES))? {
            let path = entry?.path();
            if let Ok(runtime) = InstalledRuntime::read(&path) {
                let modified = fs::metadata(used(&path)).and_then(|about| about.modified());
                files.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), runtime.manifest.size_bytes, path));
            }
        }
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in files {
            if bytes <= self.limit_bytes {
                break;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let digest = name.rsplit('-').next().unwrap_or_default().parse();
            let stays = digest.is_ok_and(|digest: Sha256Digest| digest == fresh || needed.contains(&digest));
            if stays {
                continue;
            }
            if path.is_dir() {
                // In one step, so that what is left is never taken for a runtime.
                let gone = tempfile::tempdir_in(self.folder.join(INCOMING))?;
                fs::rename(&path, gone.path().join("runtime"))?;
                fs::remove_file(used(&path)).or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                })?;
            } else {
                fs::remove_file(&path)?;
            }
            bytes -= length;
        }
        Ok(())
    }
}

/// Returns the file that records when a runtime was last needed. It is not in the runtime, which never changes.
fn used(runtime: &Path) -> PathBuf {
    runtime.with_extension("used")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Far longer than anything that is waited for here.
    const LIMIT: Duration = Duration::from_secs(60);

    fn digest(byte: u8) -> Sha256Digest {
        Sha256Digest::new([byte; 32])
    }

    #[test]
    fn files_are_fetched_once_and_the_oldest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = InputCache::open(folder.path(), 25).unwrap();
        let needed = || HashSet::from([digest(1)]);
        let get = |byte: u8| {
            let mut fetched = false;
            cache
                .get(digest(byte), needed, |path| {
                    fetched = true;
                    Ok(fs::write(path, [byte; 10])?)
                })
                .unwrap();
            fetched
        };
        assert!(get(1) && get(2) && !get(1) && !get(2));
        assert!(get(3), "30 bytes are too many: 2 is the oldest that is not needed");
        assert!(!get(1) && !get(3) && get(2));
        let failed = cache.get(digest(9), needed, |_| Err(ServerCallError::LeaseLost));
        assert!(matches!(failed, Err(ServerCallError::LeaseLost)));
        assert!(get(9), "a failed fetch leaves nothing");
        assert!(matches!(InputCache::open(folder.path(), 25), Err(CacheError::InUse(_))));
        drop(cache);
        InputCache::open(folder.path(), 25).unwrap();
    }

    #[test]
    fn runtimes_are_fetched_once_and_count_against_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let cache = InputCache::open(folder.path(), 25).unwrap();
        let version = |byte: u8| RuntimeVersion { name: "onnx-7".parse().unwrap(), sha256: digest(byte) };
        let place = |byte: u8| InputCache::runtimes(folder.path()).join(format!("onnx-7-{}", digest(byte)));
        let keep = |byte: u8, needed: &[u8]| {
            let mut is_fetched = false;
            let fetch = |inside: &Path| {
                is_fetched = true;
                let root = inside.join("fetched");
                fs::create_dir_all(root.join("py/bin"))?;
                fs::write(root.join("py/bin/python3"), "")?;
                let manifest = serde_json::json!({
                    "name": "onnx-7", "python": "3.11", "packages": {}, "imports": [], "env": {},
                    "address_space_bytes": 0, "sha256": digest(byte), "size_bytes": 10,
                });
                fs::write(root.join("manifest.json"), manifest.to_string())?;
                Ok(root)
            };
            let is_here = || InstalledRuntime::read(&place(byte)).is_ok();
            let needed = || needed.iter().copied().map(digest).collect();
            cache.keep_runtime(&version(byte), is_here, needed, fetch).unwrap();
            is_fetched
        };
        assert!(keep(1, &[]) && keep(2, &[]) && !keep(1, &[]));
        assert!(keep(3, &[]), "30 bytes are too many");
        assert!(place(1).exists() && !place(2).exists() && place(3).exists(), "2 was used longest ago");
        assert!(keep(4, &[1, 3]) && place(1).exists() && place(3).exists(), "what is needed may exceed the limit");
        cache.get(digest(9), HashSet::new, |path| Ok(fs::write(path, [9; 10])?)).unwrap();
        assert_eq!([1, 3, 4].map(|byte| place(byte).exists()), [false, false, true], "files count as well");
        fs::remove_file(place(4).join("manifest.json")).unwrap();
        assert!(keep(4, &[]), "an incomplete one is fetched again");
    }

    #[test]
    fn a_slow_file_keeps_only_those_waiting_who_want_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = InputCache::open(folder.path(), 1000).unwrap();
        let (begun, has_begun) = mpsc::channel();
        let (other, has_other) = mpsc::channel();
        let cache = &cache;
        thread::scope(|scope| {
            let slow = scope.spawn(move || {
                cache.get(digest(1), HashSet::new, |path| {
                    begun.send(()).unwrap();
                    has_other.recv_timeout(LIMIT).expect("the fast file waits for the slow one");
                    Ok(fs::write(path, "slow")?)
                })
            });
            has_begun.recv_timeout(LIMIT).unwrap();
            let again = scope.spawn(move || cache.get(digest(1), HashSet::new, |_| panic!("it is being fetched")));
            cache.get(digest(2), HashSet::new, |path| Ok(fs::write(path, "fast")?)).unwrap();
            other.send(()).unwrap();
            assert_eq!(slow.join().unwrap().unwrap(), again.join().unwrap().unwrap());
        });
        assert!(lock(&cache.fetching).values().all(|fetching| fetching.strong_count() == 0));
    }
}
