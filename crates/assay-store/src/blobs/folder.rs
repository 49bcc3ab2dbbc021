//! Evidence in a folder, the default: `jobs/JOB/SHA256`, or `jobs/JOB/SHA256.pack` if that is smaller.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assay_model::{JobId, Sha256Digest};
use async_trait::async_trait;
use bytes::BytesMut;
use futures_util::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::Semaphore;
use url::Url;

use super::backend::{BlobBackend, Pieces};
use super::error::{BlobError, missing, run_blocking};
use super::unpacked::{PackedVersion, UnpackedFiles};
use super::{folder_files, names};
use crate::pack;

/// Maximum number of artifacts packed at the same time: each takes a processor, and three times its size in memory.
const MAX_PACKING: usize = 1;
/// Number of bytes read from a file at once.
const CHUNK_BYTES: usize = 64 << 10;

/// A folder of evidence.
#[derive(Debug)]
pub(super) struct BlobFolder {
    root: Arc<Path>,
    /// Folder of files that are about to be stored, on the same file system.
    incoming: PathBuf,
    packing: Semaphore,
    unpacked: UnpackedFiles,
}

impl BlobFolder {
    pub(super) fn new(root: Arc<Path>, incoming: PathBuf) -> Self {
        Self { root, incoming, packing: Semaphore::new(MAX_PACKING), unpacked: UnpackedFiles::new() }
    }

    pub(super) fn job_folder(&self, job: JobId) -> PathBuf {
        self.root.join(names::job_folder(job))
    }

    /// Returns the two possible paths of an artifact: plain and packed.
    fn paths(&self, job: JobId, sha256: Sha256Digest) -> [PathBuf; 2] {
        names::both(job, sha256).map(|path| self.root.join(path))
    }
}

#[async_trait]
impl BlobBackend for BlobFolder {
    async fn put(&self, job: JobId, sha256: Sha256Digest, path: &Path) -> Result<(), BlobError> {
        let (from, [to, _], incoming) = (path.to_owned(), self.paths(job, sha256), self.incoming.clone());
        run_blocking(move || folder_files::store(&from, &to, &incoming)).await
    }

    async fn adopt(&self, file: &Path, name: &str) -> Result<(), BlobError> {
        let (from, to, incoming) = (file.to_owned(), self.root.join(name), self.incoming.clone());
        run_blocking(move || folder_files::store(&from, &to, &incoming)).await
    }

    async fn pack(&self, job: JobId, sha256: Sha256Digest) -> Result<(), BlobError> {
        let ([stored, _], incoming) = (self.paths(job, sha256), self.incoming.clone());
        // The semaphore is never closed.
        let _permit = self.packing.acquire().await.map_err(io::Error::other)?;
        run_blocking(move || folder_files::replace_with_packed(&stored, &incoming)).await
    }

    async fn settle(&self, job: JobId) -> Result<(), BlobError> {
        let folder = self.job_folder(job);
        run_blocking(move || folder.ancestors().take(2).try_for_each(|folder| File::open(folder)?.sync_all())).await
    }

    async fn size(&self, job: JobId, sha256: Sha256Digest) -> Result<u64, BlobError> {
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

    async fn read(&self, job: JobId, sha256: Sha256Digest, range: Range<u64>) -> Result<Pieces, BlobError> {
        let [plain, packed] = self.paths(job, sha256);
        match tokio::fs::File::open(plain).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let about = tokio::fs::metadata(&packed).await.map_err(missing)?;
                let (inode, modified_s, modified_ns) = (about.ino(), about.mtime(), about.mtime_nsec());
                let version = format!("{inode} {modified_s}.{modified_ns}");
                let version = PackedVersion { place: packed.to_string_lossy().into_owned(), version };
                let load = run_blocking(move || fs::read(packed));
                let load = async { load.await.map_err(BlobError::or_missing) };
                let file = self.unpacked.open(version, load, &self.incoming).await?;
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

    async fn download_address(
        &self,
        _job: JobId,
        _sha256: Sha256Digest,
        _name: &str,
        _lifetime: Duration,
    ) -> Result<Option<Url>, BlobError> {
        Ok(None)
    }

    async fn remove(&self, job: JobId, sha256: Sha256Digest) -> Result<(), BlobError> {
        let (paths, folder) = (self.paths(job, sha256), self.job_folder(job));
        run_blocking(move || {
            paths.iter().try_for_each(|path| folder_files::remove(path))?;
            folder_files::remove_if_empty(&folder)
        })
        .await
    }

    async fn retain(&self, job: JobId, kept: HashSet<Sha256Digest>) -> Result<(), BlobError> {
        let folder = self.job_folder(job);
        run_blocking(move || folder_files::retain(&folder, &kept)).await
    }

    async fn usage(&self) -> Result<Option<HashMap<JobId, u64>>, BlobError> {
        let folder = self.root.join(names::JOBS);
        run_blocking(move || folder_files::usage(&folder)).await.map(Some)
    }

    /// Also removes unfinished files that version 0.1.0 left when it was killed.
    async fn erase(&self, job: JobId) -> Result<(), BlobError> {
        let folder = self.job_folder(job);
        run_blocking(move || folder_files::remove_folder(&folder)).await
    }
}

/// Streams `length` bytes of the file from its current position.
fn chunks(file: tokio::fs::File, length: u64) -> Pieces {
    let next = |mut file: tokio::io::Take<tokio::fs::File>| async move {
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        let read = file.read_buf(&mut chunk).await?;
        Ok((read > 0).then(|| (chunk.freeze(), file)))
    };
    stream::try_unfold(file.take(length), next).boxed()
}
