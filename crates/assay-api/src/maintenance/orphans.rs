//! Orphaned archives: archives that a killed server stored for a job whose row was never written.

use super::remove::RemoveError;
use crate::state::App;
use crate::upload::{self, POLICIES};

/// Removes the archives that no job needs.
pub(super) async fn policies(app: &App) -> Result<(), RemoveError> {
    let mut entries = tokio::fs::read_dir(app.data.join(POLICIES)).await?;
    while let Some(entry) = entries.next_entry().await? {
        let path = format!("{POLICIES}/{}", entry.file_name().to_string_lossy());
        // Checked again under the lock before removal; until then uploads need not wait.
        if !app.records.is_policy_needed(&path).await? && upload::remove_archive(app, &path).await? {
            tracing::info!(path, "removed an archive that no job needs");
        }
    }
    Ok(())
}
