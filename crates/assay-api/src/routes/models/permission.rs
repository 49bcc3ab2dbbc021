//! The permission to change models.

use assay_model::Scope;

use crate::http::{ApiError, Caller, ErrorCode};

/// Checks that the caller may upload and delete models: whoever may verify or submit policies may.
pub(super) fn require_upload_scope(caller: &Caller) -> Result<(), ApiError> {
    if caller.has(Scope::Verify) || caller.has(Scope::Submit) {
        return Ok(());
    }
    Err(ApiError::new(ErrorCode::Forbidden, "the key needs the scope verify or submit"))
}
