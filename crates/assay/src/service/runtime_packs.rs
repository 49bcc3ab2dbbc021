//! The runtimes of policies as archives, for workers that lack one. Each is made when it is first asked for, and kept
//! in the data folder while the runtime is installed.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, TryLockError};

use assay_model::{PackedRuntime, Sha256Digest, Sha256Writer};
use assay_policy::{InstalledRuntime, RuntimeLibrary, pack_runtime};

/// Beginning of the names of folders in which an archive is made.
const UNFINISHED: &str = ".packing";

/// The folder of the archives. A name is the runtime's digest, a dot, and that of the archive.
#[derive(Debug)]
pub(crate) struct RuntimePacks {
    folder: PathBuf,
    /// Held while an archive is made.
    packing: Mutex<()>,
}

impl RuntimePacks {
    /// Name of the folder in the data folder.
    pub(crate) const FOLDER: &str = "packed-runtimes";

    /// Opens the archives of the service with the data folder `data`.
    pub(super) fn of(data: &Path) -> Self {
        Self { folder: data.join(Self::FOLDER), packing: Mutex::default() }
    }

    /// Removes what servers that were killed while packing have left. To be called by a server that has the data folder
    /// for itself.
    ///
    /// # Errors
    /// A folder cannot be removed.
    pub(super) fn sweep(&self) -> io::Result<()> {
        let unfinished = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()))
        };
        self.files()?.iter().filter(|path| unfinished(path)).try_for_each(fs::remove_dir_all)
    }

    /// Returns the archive of a runtime; `None` if there is no runtime with this digest. One is made only if the
    /// runtime itself would fit into `room_bytes`.
    ///
    /// # Errors
    /// It cannot be made; [`ErrorKind::WouldBlock`]: another one is being made; [`ErrorKind::StorageFull`]: there is no
    /// room.
    pub(super) fn get(
        &self,
        library: &RuntimeLibrary,
        runtime: Sha256Digest,
        room_bytes: u64,
    ) -> io::Result<Option<(PackedRuntime, PathBuf)>> {
        let installed = library.list();
        let Some(wanted) = installed.iter().find(|one| one.manifest.sha256 == runtime) else { return Ok(None) };
        if let Some(found) = self.find(runtime)? {
            return Ok(Some(found));
        }
        if wanted.manifest.size_bytes > room_bytes {
            return Err(ErrorKind::StorageFull.into());
        }
        let _packing = match self.packing.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(ErrorKind::WouldBlock.into()),
        };
        if let Some(found) = self.find(runtime)? {
            return Ok(Some(found));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.forget_others(&installed.iter().map(|one| one.manifest.sha256).collect())?;
        self.pack(wanted).map(Some)
    }

    fn find(&self, runtime: Sha256Digest) -> io::Result<Option<(PackedRuntime, PathBuf)>> {
        for path in self.files()? {
            if let Some((of, sha256)) = digests(&path).filter(|(of, _)| *of == runtime) {
                tracing::debug!(runtime = %of, "the runtime is packed already");
                let size_bytes = path.metadata()?.len();
                return Ok(Some((PackedRuntime { sha256, size_bytes }, path)));
            }
        }
        Ok(None)
    }

    fn pack(&self, runtime: &InstalledRuntime) -> io::Result<(PackedRuntime, PathBuf)> {
        let version = runtime.manifest.version();
        tracing::info!(runtime = %version, "a worker lacks this runtime: it is being packed");
        let work = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.folder)?;
        let fresh = work.path().join("packed");
        pack_runtime(runtime, &fresh).map_err(io::Error::other)?;
        let (mut hash, mut file) = (Sha256Writer::default(), File::open(&fresh)?);
        let size_bytes = io::copy(&mut file, &mut hash)?;
        // Its name vouches for its content, also after a power failure.
        file.sync_all()?;
        let sha256 = hash.finish();
        let path = self.folder.join(format!("{}.{sha256}", version.sha256));
        fs::rename(fresh, &path)?;
        Ok((PackedRuntime { sha256, size_bytes }, path))
    }

    /// Removes the archives of runtimes that are gone.
    fn forget_others(&self, installed: &HashSet<Sha256Digest>) -> io::Result<()> {
        let mut files = self.files()?;
        files.retain(|path| digests(path).is_some_and(|(runtime, _)| !installed.contains(&runtime)));
        files.iter().try_for_each(fs::remove_file)
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            entries => entries?.map(|entry| entry.map(|entry| entry.path())).collect(),
        }
    }
}

/// Returns the digests of the runtime and of the archive.
fn digests(path: &Path) -> Option<(Sha256Digest, Sha256Digest)> {
    let (runtime, archive) = path.file_name()?.to_str()?.split_once('.')?;
    Some((runtime.parse().ok()?, archive.parse().ok()?))
}
