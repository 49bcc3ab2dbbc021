//! Errors of the storage for evidence and archives as responses.

use assay_store::{ArchiveFileError, BlobError, ObjectStorageError, is_disk_full};

use crate::disk::disk_error;
use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Retry delay after an outage of the storage, in seconds.
const RETRY_S: u64 = 2;

/// Maps an error of the storage: an outage is temporary, anything else is an internal error.
pub(crate) fn blob_error(app: &App, error: BlobError) -> ApiError {
    match &error {
        BlobError::Missing => ApiError::not_found("file"),
        BlobError::Io(cause) if !is_disk_full(cause) => ApiError::internal("the storage for evidence failed", &error),
        BlobError::Store(error) => storage_unavailable(app, error),
        _ => {
            app.storage.files_failed(&error);
            ApiError::try_again(ErrorCode::Unavailable, "evidence cannot be stored now; try again", RETRY_S)
        }
    }
}

/// Maps an error of the storage for archives: an outage is temporary, anything else is an internal error.
pub(crate) fn archive_error(app: &App, error: ArchiveFileError) -> ApiError {
    match error {
        ArchiveFileError::Io(error) => disk_error(app, &error),
        ArchiveFileError::Store(error) => storage_unavailable(app, &error),
        ArchiveFileError::Missing | ArchiveFileError::Damaged => ApiError::internal("an archive", &error),
    }
}

/// Reports that the object store failed, which is temporary for clients.
pub(crate) fn storage_unavailable(app: &App, error: &ObjectStorageError) -> ApiError {
    app.storage.files_failed(error);
    ApiError::try_again(ErrorCode::Unavailable, "the storage of files is temporarily unavailable; try again", RETRY_S)
}
