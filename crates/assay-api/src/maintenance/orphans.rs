//! Orphaned archives: archives that a killed server stored for a job whose row was never written.

use assay_store::ArchiveRemovalOutcome;

use super::remove::RemoveError;
use crate::state::App;
use crate::upload;

/// Removes the archives that no job needs.
pub(super) async fn policies(app: &App) -> Result<(), RemoveError> {
    for path in app.archives.list().await? {
        // Checked again under the lock before removal; until then uploads need not wait.
        let is_needed = app.records.is_policy_needed(&path).await?;
        if !is_needed && upload::remove_archive(app, &path).await? == Some(ArchiveRemovalOutcome::Removed) {
            tracing::info!(path, "removed an archive that no job needs");
        }
    }
    Ok(())
}
