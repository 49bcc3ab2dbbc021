//! Evidence in an object store, under the same names as in a folder: `jobs/JOB/SHA256`, or `jobs/JOB/SHA256.pack`.
//!
//! Files that packing makes smaller are packed before the upload: reading it back to pack it later would cost more
//! than the processor time. An artifact that two versions of the program uploaded may exist in both forms, which have
//! the same content.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_model::{JobId, Sha256Digest};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use tokio::sync::Semaphore;
use url::Url;

use super::backend::{BlobBackend, Pieces};
use super::error::{BlobError, run_blocking};
use super::unpacked::{PackedVersion, UnpackedFiles};
use super::{names, packed_file};
use crate::object_storage::{ObjectStorage, ObjectStorageProblem};
use crate::pack;

/// Maximum number of artifacts packed at the same time: each takes a processor, and three times its size in memory.
const MAX_PACKING: usize = 2;

/// Evidence in an object store.
#[derive(Debug)]
pub(super) struct BlobBucket {
    storage: ObjectStorage,
    /// True if clients download from the store.
    redirects: bool,
    /// Local folder for unpacked copies.
    incoming: PathBuf,
    packing: Semaphore,
    unpacked: UnpackedFiles,
}

impl BlobBucket {
    pub(super) fn new(storage: ObjectStorage, redirects: bool, incoming: PathBuf) -> Self {
        Self { storage, redirects, incoming, packing: Semaphore::new(MAX_PACKING), unpacked: UnpackedFiles::new() }
    }

    /// Returns the packed content of the file, if packing makes it smaller.
    async fn packed(&self, path: &Path) -> Result<Option<Vec<u8>>, BlobError> {
        // The semaphore is never closed.
        let _permit = self.packing.acquire().await.map_err(io::Error::other)?;
        let path = path.to_owned();
        run_blocking(move || packed_file::packed(&path)).await
    }
}

#[async_trait]
impl BlobBackend for BlobBucket {
    async fn put(&self, job: JobId, sha256: Sha256Digest, path: &Path) -> Result<(), BlobError> {
        let [plain, packed] = names::both(job, sha256);
        match self.packed(path).await? {
            Some(content) => Ok(self.storage.put(&packed, Bytes::from(content)).await?),
            None => Ok(self.storage.put_file(&plain, path).await?),
        }
    }

    async fn adopt(&self, file: &Path, name: &str) -> Result<(), BlobError> {
        Ok(self.storage.put_missing_file(name, file).await?)
    }

    /// Does nothing: artifacts are packed before their upload.
    async fn pack(&self, _job: JobId, _sha256: Sha256Digest) -> Result<(), BlobError> {
        Ok(())
    }

    /// Does nothing: an upload is durable when it is acknowledged.
    async fn settle(&self, _job: JobId) -> Result<(), BlobError> {
        Ok(())
    }

    async fn size(&self, job: JobId, sha256: Sha256Digest) -> Result<u64, BlobError> {
        let [plain, packed] = names::both(job, sha256);
        match self.storage.facts(&plain).await {
            Err(error) if error.problem == ObjectStorageProblem::Missing => {
                Ok(pack::length(&self.storage.head(&packed, pack::HEAD_BYTES as u64).await?)?)
            }
            found => Ok(found?.size),
        }
    }

    async fn read(&self, job: JobId, sha256: Sha256Digest, range: Range<u64>) -> Result<Pieces, BlobError> {
        let [plain, packed] = names::both(job, sha256);
        let (start, end) = (range.start, range.end);
        match self.storage.read(&plain, Some(range)).await {
            Err(error) if error.problem == ObjectStorageProblem::Missing => {
                let version = self.storage.facts(&packed).await?.version;
                let version = PackedVersion { place: packed.clone(), version };
                let load = async { Ok(self.storage.content(&packed).await?) };
                let file = self.unpacked.open(version, load, &self.incoming).await?;
                Ok(file.stream(start, end))
            }
            found => Ok(found?.map_err(BlobError::from).boxed()),
        }
    }

    async fn download_address(
        &self,
        job: JobId,
        sha256: Sha256Digest,
        name: &str,
        lifetime: Duration,
    ) -> Result<Option<Url>, BlobError> {
        let [plain, _] = names::both(job, sha256);
        if !self.redirects {
            return Ok(None);
        }
        match self.storage.facts(&plain).await {
            // Only this program can unpack.
            Err(error) if error.problem == ObjectStorageProblem::Missing => Ok(None),
            Err(error) => Err(error.into()),
            Ok(_) => {
                let disposition = format!("attachment; filename=\"{}\"", name.replace(['"', '\\'], "_"));
                let query = vec![
                    ("response-content-disposition", disposition),
                    ("response-content-type", "application/octet-stream".to_owned()),
                ];
                Ok(Some(self.storage.download_address(&plain, lifetime, query).await?))
            }
        }
    }

    async fn remove(&self, job: JobId, sha256: Sha256Digest) -> Result<(), BlobError> {
        for key in names::both(job, sha256) {
            self.storage.delete(&key).await?;
        }
        Ok(())
    }

    async fn retain(&self, job: JobId, kept: HashSet<Sha256Digest>) -> Result<(), BlobError> {
        let is_kept = move |name: &str| names::sha256_of(name).is_some_and(|sha256| kept.contains(&sha256));
        Ok(self.storage.delete_below(&names::job_folder(job), is_kept).await?)
    }

    /// Returns `None`: only a list of all objects would tell.
    async fn usage(&self) -> Result<Option<HashMap<JobId, u64>>, BlobError> {
        Ok(None)
    }

    async fn erase(&self, job: JobId) -> Result<(), BlobError> {
        Ok(self.storage.delete_below(&names::job_folder(job), |_| false).await?)
    }
}
