//! Responses about erased and removed resources.

use assay_store::JobRecord;
use jiff::Timestamp;

use crate::http::{ApiError, ErrorCode};

/// Returns an error if the job was erased.
pub(crate) fn none(job: &JobRecord) -> Result<(), ApiError> {
    job.removed.erased_at.map_or(Ok(()), |at| Err(erased(at)))
}

/// Returns the error for an erased job.
pub(super) fn erased(at: Timestamp) -> ApiError {
    gone("the job was erased", at)
}

/// Returns the error for a removed resource.
pub(crate) fn gone(what: &str, at: Timestamp) -> ApiError {
    ApiError::new(ErrorCode::Gone, format!("{what} at {}", at.strftime("%Y-%m-%dT%H:%M:%SZ")))
}
