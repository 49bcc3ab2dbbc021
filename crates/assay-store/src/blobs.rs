//! Evidence in a folder, by job and SHA-256: `jobs/JOB/SHA256`, or `jobs/JOB/SHA256.pack` if that is smaller (see
//! [`pack`]). Readers get the same bytes from both. Each job has its own copy, so that erasing one job needs no check
//! of any other, and an upload reveals nothing about the evidence of others.

mod error;
mod files;
#[cfg(test)]
mod tests;
mod unpacked;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::{JobId, Sha256Digest};
use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio::sync::Semaphore;

use crate::pack;
pub use error::BlobError;
use error::{missing, run_blocking};
use files::PACKED;
use unpacked::UnpackedFiles;

/// Folder of all jobs.
const JOBS: &str = "jobs";
/// Folder of files that are about to be stored.
const INCOMING: &str = "incoming";
/// Maximum number of artifacts packed at the same time: each takes a processor, and three times its size in memory.
const MAX_PACKING: usize = 1;
/// Number of bytes read from a file at once.
const CHUNK_BYTES: usize = 64 << 10;

/// The folder of evidence.
#[derive(Debug, Clone)]
pub struct Blobs {
    root: Arc<Path>,
    packing: Arc<Semaphore>,
    unpacked: Arc<UnpackedFiles>,
}

impl Blobs {
    /// Opens the artifacts in a folder, creating it if needed. Must be called only by the one process that writes
    /// there, because files left in [`Self::incoming`] by an earlier process are deleted.
    ///
    /// # Errors
    /// [`BlobError`] if the folder cannot be created.
    pub fn folder(path: &Path) -> Result<Self, BlobError> {
        fs::create_dir_all(path)?;
        match fs::remove_dir_all(path.join(INCOMING)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => fs::create_dir(path.join(INCOMING))?,
        }
        let (packing, unpacked) = (Arc::new(Semaphore::new(MAX_PACKING)), Arc::new(UnpackedFiles::new()));
        Ok(Self { root: path.into(), packing, unpacked })
    }

    /// Returns the folder of all artifacts.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates a folder for files that are about to be stored, from which [`Self::put`] needs no copy. Deleted when
    /// dropped.
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
        let (from, [to, _], incoming) = (path.to_owned(), self.paths(job, sha256), self.root.join(INCOMING));
        run_blocking(move || files::store(&from, &to, &incoming)).await
    }

    /// Packs a stored artifact if that makes it smaller; readers see the same bytes before, during and after. One that
    /// is removed meanwhile stays removed. Takes milliseconds of CPU time per megabyte, so it is meant for idle times.
    ///
    /// # Errors
    /// [`BlobError`] if it cannot be read or written; it is then unchanged.
    pub async fn pack(&self, job: JobId, sha256: Sha256Digest) -> Result<(), BlobError> {
        let ([stored, _], incoming) = (self.paths(job, sha256), self.root.join(INCOMING));
        // The semaphore is never closed.
        let _permit = self.packing.acquire().await.map_err(io::Error::other)?;
        run_blocking(move || files::replace_with_packed(&stored, &incoming)).await
    }

    /// Makes the names of all stored artifacts of a job durable, so that the records may refer to them.
    ///
    /// # Errors
    /// [`BlobError`] if nothing was stored, or the disk failed.
    pub async fn settle(&self, job: JobId) -> Result<(), BlobError> {
        let folder = self.job_folder(job);
        run_blocking(move || folder.ancestors().take(2).try_for_each(|folder| File::open(folder)?.sync_all())).await
    }

    /// Returns the two possible paths of an artifact relative to the folder: plain and packed.
    #[must_use]
    pub fn relative_paths(job: JobId, sha256: Sha256Digest) -> [String; 2] {
        let plain = format!("{JOBS}/{job}/{sha256}");
        [plain.clone(), plain + PACKED]
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
    /// [`BlobError::Missing`], or the folder cannot be read.
    pub async fn size(&self, job: JobId, sha256: Sha256Digest) -> Result<u64, BlobError> {
        let [plain, packed] = self.paths(job, sha256);
        match tokio::fs::metadata(plain).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let file = tokio::fs::File::open(packed).await.map_err(missing)?;
                let mut head = Vec::new();
                file.take(pack::HEAD_BYTES as u64).read_to_end(&mut head).await?;
                Ok(pack::length(&head)?)
            }
            found => Ok(found?.len()),
        }
    }

    /// Streams the bytes of a range that lies within the artifact.
    ///
    /// # Errors
    /// [`BlobError::Missing`], or the folder cannot be read.
    pub async fn read(
        &self,
        job: JobId,
        sha256: Sha256Digest,
        range: Range<u64>,
    ) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        let [plain, packed] = self.paths(job, sha256);
        match tokio::fs::File::open(plain).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let file = self.unpacked.open(packed, &self.root.join(INCOMING)).await?;
                Ok(file.stream(range.start, range.end))
            }
            found => {
                let mut file = found?;
                if range.start > 0 {
                    file.seek(SeekFrom::Start(range.start)).await?;
                }
                Ok(chunks(file, range.end.saturating_sub(range.start)))
            }
        }
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
    /// [`BlobError`] if the folder failed.
    pub async fn remove(&self, job: JobId, sha256: Sha256Digest) -> Result<(), BlobError> {
        let (paths, folder) = (self.paths(job, sha256), self.job_folder(job));
        run_blocking(move || {
            paths.iter().try_for_each(|path| files::remove(path))?;
            files::remove_if_empty(&folder)
        })
        .await
    }

    /// Removes all of a job's artifacts except those with the hashes `kept`.
    ///
    /// # Errors
    /// [`BlobError`] if the folder failed; files removed by then stay removed.
    pub async fn retain(&self, job: JobId, kept: HashSet<Sha256Digest>) -> Result<(), BlobError> {
        let folder = self.job_folder(job);
        run_blocking(move || files::retain(&folder, &kept)).await
    }

    /// Returns the disk usage of each job's artifacts, in bytes.
    ///
    /// # Errors
    /// [`BlobError`] if the folder cannot be read.
    pub async fn usage(&self) -> Result<HashMap<JobId, u64>, BlobError> {
        let folder = self.root.join(JOBS);
        run_blocking(move || files::usage(&folder)).await
    }

    /// Removes all of a job's artifacts, and unfinished files that version 0.1.0 left among them when it was killed.
    ///
    /// # Errors
    /// As [`Self::retain`].
    pub async fn erase(&self, job: JobId) -> Result<(), BlobError> {
        let folder = self.job_folder(job);
        run_blocking(move || files::remove_folder(&folder)).await
    }

    fn job_folder(&self, job: JobId) -> PathBuf {
        self.root.join(JOBS).join(job.to_string())
    }

    /// Returns the two possible paths of an artifact: plain and packed.
    fn paths(&self, job: JobId, sha256: Sha256Digest) -> [PathBuf; 2] {
        Self::relative_paths(job, sha256).map(|path| self.root.join(path))
    }
}

/// Streams `length` bytes of the file from its current position.
fn chunks(file: tokio::fs::File, length: u64) -> BoxStream<'static, Result<Bytes, BlobError>> {
    let next = |mut file: tokio::io::Take<tokio::fs::File>| async move {
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let read = file.read_buf(&mut chunk).await?;
        Ok((read > 0).then(|| (chunk.freeze(), file)))
    };
    stream::try_unfold(file.take(length), next).boxed()
}
