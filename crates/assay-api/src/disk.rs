//! Whether the disk of the data folder has room.

use rustix::fs::statvfs;

use crate::http::{ApiError, Code};
use crate::state::App;

/// When to try again, in s: what makes room is a person, or the clean-up of old evidence.
const RETRY_S: u64 = 60;

/// What a client, or an orchestrator, hears.
pub(crate) const FULL: &str = "the disk is nearly full; what would be stored is not taken in until there is room again";

/// Whether there is room for what requests bring.
///
/// # Errors
/// 503: there is less free space than the setting `limits.disk.min_free_mib`.
pub(crate) fn room(app: &App) -> Result<(), ApiError> {
    match statvfs(&app.data) {
        Ok(found) => {
            let free_mib = found.f_bavail.saturating_mul(found.f_frsize) >> 20;
            if free_mib >= app.settings.disk.min_free_mib {
                return Ok(());
            }
            tracing::warn!(free_mib, min_free_mib = app.settings.disk.min_free_mib, "the disk is nearly full");
            Err(ApiError::try_again(Code::Unavailable, FULL, RETRY_S))
        }
        Err(error) => Err(ApiError::internal("the disk's free space is not known", &std::io::Error::from(error))),
    }
}
