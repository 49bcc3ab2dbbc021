//! Errors of the evidence store, and work on threads that may block.

use std::io::{self, ErrorKind};

use assay_model::Sha256Digest;
use tokio::task::spawn_blocking;

use crate::object_storage::{FileUploadError, ObjectStorageError, ObjectStorageProblem};
use crate::pack::PackError;

/// An artifact could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// There is no artifact with this hash, or it was removed.
    #[error("the artifact does not exist")]
    Missing,
    /// A file could not be read or written.
    #[error("could not read or write a file of evidence")]
    Io(#[from] io::Error),
    /// The stored file is damaged.
    #[error(transparent)]
    Damaged(#[from] PackError),
    /// The object store failed.
    #[error("the evidence is in an object store")]
    Store(#[source] ObjectStorageError),
}

/// A packed artifact from an untrusted sender was not stored.
#[derive(Debug, thiserror::Error)]
pub enum PackedFormError {
    /// It is not a packed form.
    #[error(transparent)]
    Damaged(#[from] PackError),
    /// It unpacks to too many bytes.
    #[error("the file has {length} bytes unpacked; {limit} are allowed")]
    TooLong {
        /// Its length, in bytes.
        length: u64,
        /// The maximum length, in bytes.
        limit: u64,
    },
    /// It unpacks to something else.
    #[error("the file's SHA-256 is {found}, not {expected}")]
    OtherContent {
        /// The SHA-256 of its content.
        found: Sha256Digest,
        /// The SHA-256 that was named.
        expected: Sha256Digest,
    },
    /// It could not be stored.
    #[error(transparent)]
    Storage(#[from] BlobError),
}

impl From<ObjectStorageError> for BlobError {
    fn from(error: ObjectStorageError) -> Self {
        if error.problem == ObjectStorageProblem::Missing { Self::Missing } else { Self::Store(error) }
    }
}

impl From<FileUploadError> for BlobError {
    fn from(error: FileUploadError) -> Self {
        match error {
            FileUploadError::File(error) => Self::Io(error),
            // Nothing is missing but the bucket.
            FileUploadError::Store(error) => Self::Store(error),
        }
    }
}

impl BlobError {
    /// Converts the error of a file that does not exist.
    pub(super) fn or_missing(self) -> Self {
        match self {
            Self::Io(error) => missing(error),
            other => other,
        }
    }
}

/// Converts an error of opening an artifact's file.
pub(super) fn missing(error: io::Error) -> BlobError {
    if error.kind() == ErrorKind::NotFound { BlobError::Missing } else { error.into() }
}

/// Runs `work` on a blocking thread.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, BlobError> {
    Ok(spawn_blocking(work).await.map_err(io::Error::other)??)
}
