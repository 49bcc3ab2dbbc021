//! The operations of a place for evidence.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use assay_model::{JobId, Sha256Digest};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use url::Url;

use super::BlobError;

/// The pieces of an artifact.
pub(super) type Pieces = BoxStream<'static, Result<Bytes, BlobError>>;

/// A place for evidence. [`super::Blobs`] documents the operations.
#[async_trait]
pub(super) trait BlobBackend: Debug + Send + Sync {
    async fn put(&self, job: JobId, sha256: Sha256Digest, path: &Path) -> Result<(), BlobError>;

    /// Stores a file, plain or packed, under its name.
    async fn adopt(&self, file: &Path, name: &str) -> Result<(), BlobError>;

    async fn pack(&self, job: JobId, sha256: Sha256Digest) -> Result<(), BlobError>;

    async fn settle(&self, job: JobId) -> Result<(), BlobError>;

    async fn size(&self, job: JobId, sha256: Sha256Digest) -> Result<u64, BlobError>;

    /// Streams a range, which is not empty.
    async fn read(&self, job: JobId, sha256: Sha256Digest, range: Range<u64>) -> Result<Pieces, BlobError>;

    async fn download_address(
        &self,
        job: JobId,
        sha256: Sha256Digest,
        name: &str,
        lifetime: Duration,
    ) -> Result<Option<Url>, BlobError>;

    async fn remove(&self, job: JobId, sha256: Sha256Digest) -> Result<(), BlobError>;

    async fn retain(&self, job: JobId, kept: HashSet<Sha256Digest>) -> Result<(), BlobError>;

    async fn usage(&self) -> Result<Option<HashMap<JobId, u64>>, BlobError>;

    async fn erase(&self, job: JobId) -> Result<(), BlobError>;
}
