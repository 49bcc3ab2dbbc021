//! Free space on the disk of the data folder. Each upload reserves its announced size before its body is read, and free
//! space is checked again with every write, so that uploads never use the space that the records and the evidence of
//! running jobs need (`limits.disk.min_free_mib`), regardless of their number and rate.

use assay_store::is_disk_full;

use crate::http::ApiError;
use crate::state::App;
use crate::upload_space::full;

const MIB: u64 = 1 << 20;

/// Checks that the disk has space for uploads at all.
///
/// # Errors
/// 503: less than `limits.disk.min_free_mib` is free.
pub(crate) fn ensure_free_space(app: &App) -> Result<(), ApiError> {
    available_bytes(app).map(|_| ())
}

/// Returns the number of bytes that uploads may use.
pub(crate) fn available_bytes(app: &App) -> Result<u64, ApiError> {
    let free = app.storage.free_bytes().map_err(|e| ApiError::internal("could not read the free disk space", &e))?;
    free.checked_sub(app.settings.disk.min_free_mib.saturating_mul(MIB)).ok_or_else(full)
}

/// Maps an IO error: a full disk is temporary, anything else is an internal error.
pub(crate) fn disk_error(app: &App, error: &std::io::Error) -> ApiError {
    if is_disk_full(error) {
        app.storage.files_failed(error);
        return full();
    }
    ApiError::internal("the disk failed", error)
}
