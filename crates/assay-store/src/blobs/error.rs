//! Errors of the evidence store, and work on threads that may block.

use std::io::{self, ErrorKind};

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
