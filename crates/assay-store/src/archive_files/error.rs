//! Errors of archives.

use std::io;

use crate::object_storage::{FileUploadError, ObjectStorageError, ObjectStorageProblem};

/// An archive could not be stored, read or removed.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveFileError {
    /// There is no archive with this path.
    #[error("the archive does not exist")]
    Missing,
    /// The stored archive has a digest other than the one in its name.
    #[error("the stored archive is damaged: its digest is not the one in its name")]
    Damaged,
    /// A file could not be read or written.
    #[error("could not read or write an archive")]
    Io(#[source] io::Error),
    /// The object store failed.
    #[error("the archive is in an object store")]
    Store(#[source] ObjectStorageError),
}

impl From<io::Error> for ArchiveFileError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::Io(error) }
    }
}

impl From<ObjectStorageError> for ArchiveFileError {
    fn from(error: ObjectStorageError) -> Self {
        if error.problem == ObjectStorageProblem::Missing { Self::Missing } else { Self::Store(error) }
    }
}

impl From<FileUploadError> for ArchiveFileError {
    fn from(error: FileUploadError) -> Self {
        match error {
            FileUploadError::File(error) => Self::Io(error),
            FileUploadError::Store(error) => Self::Store(error),
        }
    }
}
