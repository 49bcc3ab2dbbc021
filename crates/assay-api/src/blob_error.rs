//! Errors of the storage for evidence as responses.

use assay_store::{BlobError, is_disk_full};

use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Retry delay after an outage of the storage, in seconds.
const RETRY_S: u64 = 2;

/// Maps an error of the storage: an outage is temporary, anything else is an internal error.
pub(crate) fn blob_error(app: &App, error: BlobError) -> ApiError {
    match &error {
        BlobError::Missing => ApiError::not_found("file"),
        BlobError::Io(cause) if !is_disk_full(cause) => ApiError::internal("the storage for evidence failed", &error),
        _ => {
            app.storage.files_failed(&error);
            ApiError::try_again(ErrorCode::Unavailable, "evidence cannot be stored now; try again", RETRY_S)
        }
    }
}
