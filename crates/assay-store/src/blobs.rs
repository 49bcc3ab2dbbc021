//! Evidence by job and SHA-256: `jobs/JOB/SHA256`, or `jobs/JOB/SHA256.pack` if that is smaller (see [`pack`]), in a
//! [folder] or in an object store ([bucket]). Readers get the same bytes from both. Each job has its own copy, so that
//! erasing one job needs no check of any other, and an upload reveals nothing about the evidence of others.

mod backend;
mod bucket;
mod checked_traces;
mod error;
mod folder;
mod folder_files;
mod names;
mod packed_file;
#[cfg(test)]
mod tests;
mod unpacked;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assay_model::{JobId, Sha256Digest, Sha256Writer};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use url::Url;

use crate::object_storage::ObjectStorage;
use crate::pack;
use backend::BlobBackend;
use bucket::BlobBucket;
use checked_traces::CheckedTraces;
pub use error::{BlobError, PackedFormError};
use folder::BlobFolder;

/// Folder of files that are about to be stored.
const INCOMING: &str = "incoming";
/// Maximum number of packed artifacts checked at the same time: each takes a processor, and three times its size in
/// memory.
const MAX_CHECKING: usize = 2;

/// The evidence.
#[derive(Debug, Clone)]
pub struct Blobs {
    root: Arc<Path>,
    backend: Arc<dyn BlobBackend>,
    /// Limits how many packed artifacts are checked at the same time.
    checking: Arc<Semaphore>,
    checked: Arc<CheckedTraces>,
}

impl Blobs {
    /// Opens the artifacts in a folder, creating it if needed.
    ///
    /// # Errors
    /// [`BlobError`] if the folder cannot be created.
    pub fn folder(path: &Path) -> Result<Self, BlobError> {
        fs::create_dir_all(path.join(INCOMING))?;
        let root: Arc<Path> = path.into();
        let backend = Arc::new(BlobFolder::new(Arc::clone(&root), path.join(INCOMING)));
        Ok(Self::new(root, backend))
    }

    /// Opens the artifacts in an object store. `path` is a local folder for files that are about to be stored; it is
    /// created if needed. If `redirects` is true, clients get [addresses](Self::download_address) in the store.
    ///
    /// # Errors
    /// [`BlobError`] if the folder cannot be created.
    pub fn bucket(path: &Path, storage: ObjectStorage, redirects: bool) -> Result<Self, BlobError> {
        fs::create_dir_all(path.join(INCOMING))?;
        let backend = Arc::new(BlobBucket::new(storage, redirects, path.join(INCOMING)));
        Ok(Self::new(path.into(), backend))
    }

    fn new(root: Arc<Path>, backend: Arc<dyn BlobBackend>) -> Self {
        Self { root, backend, checking: Arc::new(Semaphore::new(MAX_CHECKING)), checked: Arc::default() }
    }

    /// Returns the local folder: of all artifacts, or of those that are about to be stored in an object store.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes the files that were about to be stored by processes that have ended. To be called before this one stores
    /// any, and while no other process does.
    ///
    /// # Errors
    /// [`BlobError`] if a file cannot be removed.
    pub fn remove_unfinished(&self) -> Result<(), BlobError> {
        let incoming = self.root.join(INCOMING);
        fs::remove_dir_all(&incoming)?;
        Ok(fs::create_dir(incoming)?)
    }

    /// Creates a local folder for files that are about to be stored, from which [`Self::put`] needs no copy. Deleted
    /// when dropped.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn incoming(&self) -> io::Result<TempDir> {
        tempfile::tempdir_in(self.root.join(INCOMING))
    }

    /// Stores the file at `path`, whose SHA-256 is `sha256`. The file must never change afterwards, since it is stored
    /// as a hard link if possible. Its content is durable when this returns, its name after [`Self::settle`].
    /// Idempotent; if the process is killed, nothing or all of it is stored.
    ///
    /// # Errors
    /// [`BlobError`] if the file cannot be read or stored.
    pub async fn put(&self, job: JobId, sha256: Sha256Digest, path: &Path) -> Result<(), BlobError> {
        self.backend.put(job, sha256, path).await
    }

    /// Stores an artifact of another folder of evidence in the form that it has there, unless it is stored already. The
    /// file there must never change afterwards, since it is stored as a hard link if possible. Its content is not
    /// checked; see [`Self::is_intact`].
    ///
    /// # Errors
    /// [`BlobError::Missing`] if `folder` does not have it, or it cannot be stored.
    pub async fn adopt(&self, folder: &Path, job: JobId, sha256: Sha256Digest) -> Result<(), BlobError> {
        for name in names::both(job, sha256) {
            let file = folder.join(&name);
            if tokio::fs::try_exists(&file).await? {
                return self.backend.adopt(&file, &name).await;
            }
        }
        Err(BlobError::Missing)
    }

    /// Reads an artifact, and returns true if its content has this SHA-256.
    ///
    /// # Errors
    /// [`BlobError::Missing`], or the place of the evidence failed.
    pub async fn is_intact(&self, job: JobId, sha256: Sha256Digest) -> Result<bool, BlobError> {
        let content = async {
            let size = self.size(job, sha256).await?;
            let (mut pieces, mut found) = (self.read(job, sha256, 0..size).await?, Sha256Writer::default());
            while let Some(piece) = pieces.try_next().await? {
                found.update(&piece);
            }
            Ok(found.finish())
        };
        match content.await {
            Err(BlobError::Damaged(_)) => Ok(false),
            found => Ok(found? == sha256),
        }
    }

    /// Packs a stored artifact if that makes it smaller and was not done by [`Self::put`]; readers see the same bytes
    /// before, during and after. One that is removed meanwhile stays removed. Takes milliseconds of CPU time per
    /// megabyte, so it is meant for idle times.
    ///
    /// # Errors
    /// [`BlobError`] if it cannot be read or written; it is then unchanged.
    pub async fn pack(&self, job: JobId, sha256: Sha256Digest) -> Result<(), BlobError> {
        self.backend.pack(job, sha256).await
    }

    /// Makes the names of all stored artifacts of a job durable, so that the records may refer to them.
    ///
    /// # Errors
    /// [`BlobError`] if nothing was stored, or the disk failed.
    pub async fn settle(&self, job: JobId) -> Result<(), BlobError> {
        self.backend.settle(job).await
    }

    /// Returns the packed form of the file at `path`, as [`Self::put_packed`] takes it; `None` if that is not smaller.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn packed_form(path: &Path) -> io::Result<Option<Vec<u8>>> {
        packed_file::packed(path)
    }

    /// Stores an artifact of at most `limit` bytes whose packed form, from an untrusted sender, is in the file at
    /// `path`. As with [`Self::put`], that file must never change afterwards.
    ///
    /// # Errors
    /// [`PackedFormError`]: it is not a packed form of a file with this SHA-256, or could not be stored.
    pub async fn put_packed(
        &self,
        job: JobId,
        sha256: Sha256Digest,
        path: &Path,
        limit: u64,
    ) -> Result<(), PackedFormError> {
        let file = path.to_owned();
        // The semaphore is never closed.
        let _permit = self.checking.acquire().await.map_err(io::Error::other).map_err(BlobError::from)?;
        let (traces, incoming) = (Arc::clone(&self.checked), self.root.join(INCOMING));
        let check = move || -> Result<(), PackedFormError> {
            let content = packed_file::checked(&file, sha256, limit)?;
            Ok(traces.keep(job, sha256, &content, &incoming).map_err(BlobError::from)?)
        };
        let checked = tokio::task::spawn_blocking(check).await;
        checked.map_err(io::Error::other).map_err(BlobError::from)??;
        let [_, packed] = names::both(job, sha256);
        Ok(self.backend.adopt(path, &packed).await?)
    }

    /// Returns the two possible paths of an artifact relative to the folder: plain and packed.
    #[must_use]
    pub fn relative_paths(job: JobId, sha256: Sha256Digest) -> [String; 2] {
        names::both(job, sha256)
    }

    /// Unpacks the artifact in a packed file.
    ///
    /// # Errors
    /// [`BlobError`] if it cannot be read or is damaged.
    pub fn unpack_file(path: &Path) -> Result<Vec<u8>, BlobError> {
        Ok(pack::unpack(&fs::read(path)?)?)
    }

    /// Returns the length of an artifact in bytes.
    ///
    /// # Errors
    /// [`BlobError::Missing`], or the place of the evidence failed.
    pub async fn size(&self, job: JobId, sha256: Sha256Digest) -> Result<u64, BlobError> {
        self.backend.size(job, sha256).await
    }

    /// Streams the bytes of a range that lies within the artifact.
    ///
    /// # Errors
    /// [`BlobError::Missing`], or the place of the evidence failed.
    pub async fn read(
        &self,
        job: JobId,
        sha256: Sha256Digest,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        if range.is_empty() {
            return Ok(stream::empty().boxed());
        }
        self.backend.read(job, sha256, range).await
    }

    /// Like [`Self::copy_to`]; a trace that was just stored by [`Self::put_packed`] is not unpacked a second time, the
    /// first time that it is read so.
    ///
    /// # Errors
    /// As [`Self::copy_to`].
    pub async fn copy_trace_to(&self, job: JobId, sha256: Sha256Digest, path: &Path) -> Result<(), BlobError> {
        self.size(job, sha256).await?;
        let Some(trace) = self.checked.take(job, sha256)? else { return self.copy_to(job, sha256, path).await };
        let mut file = tokio::fs::File::create_new(path).await?;
        tokio::io::copy(&mut tokio::fs::File::from_std(trace), &mut file).await?;
        Ok(file.flush().await?)
    }

    /// Writes the artifact to a new file at `path`.
    ///
    /// # Errors
    /// [`BlobError::Missing`], or the folder or the file failed.
    pub async fn copy_to(&self, job: JobId, sha256: Sha256Digest, path: &Path) -> Result<(), BlobError> {
        let size = self.size(job, sha256).await?;
        let mut pieces = self.read(job, sha256, 0..size).await?;
        let mut file = tokio::fs::File::create_new(path).await?;
        while let Some(piece) = pieces.try_next().await? {
            file.write_all(&piece).await?;
        }
        Ok(file.flush().await?)
    }

    /// Removes an artifact, if there is one.
    ///
    /// # Errors
    /// [`BlobError`] if the place of the evidence failed.
    pub async fn remove(&self, job: JobId, sha256: Sha256Digest) -> Result<(), BlobError> {
        self.backend.remove(job, sha256).await
    }

    /// Removes all of a job's artifacts except those with the hashes `kept`.
    ///
    /// # Errors
    /// [`BlobError`] if the place of the evidence failed; files removed by then stay removed.
    pub async fn retain(&self, job: JobId, kept: HashSet<Sha256Digest>) -> Result<(), BlobError> {
        self.backend.retain(job, kept).await
    }

    /// Returns the space that each job's artifacts take, in bytes, or `None` in an object store, where only a list of
    /// all artifacts would tell. The records know the sizes of unpacked artifacts.
    ///
    /// # Errors
    /// [`BlobError`] if the folder cannot be read.
    pub async fn usage(&self) -> Result<Option<HashMap<JobId, u64>>, BlobError> {
        self.backend.usage().await
    }

    /// Returns an address at which anyone can download the artifact until `lifetime` has passed, under the file name
    /// `name`. Returns `None` if it must be [read](Self::read): it is in a folder, is packed, or does not exist, or
    /// clients have no access to the object store.
    ///
    /// # Errors
    /// [`BlobError`] if the object store failed.
    pub async fn download_address(
        &self,
        job: JobId,
        sha256: Sha256Digest,
        name: &str,
        lifetime: Duration,
    ) -> Result<Option<Url>, BlobError> {
        self.backend.download_address(job, sha256, name, lifetime).await
    }

    /// Removes all of a job's artifacts.
    ///
    /// # Errors
    /// As [`Self::retain`].
    pub async fn erase(&self, job: JobId) -> Result<(), BlobError> {
        self.backend.erase(job).await
    }
}
