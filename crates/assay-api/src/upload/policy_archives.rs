//! Coordination of the acceptance and the removal of policy archives.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, Semaphore, SemaphorePermit};

use crate::http::ApiError;

/// Maximum number of archives checked at a time; each check occupies a processor.
const MAX_CHECKS: usize = 4;

/// Coordinates the acceptance and removal of policy archives; shared by all its clones.
#[derive(Debug, Clone)]
pub struct PolicyArchives {
    checks: Arc<Semaphore>,
    /// Locked for reading from before an archive is moved to its final path until its job has a row; locked for writing
    /// while an archive that no job needs is removed.
    in_use: Arc<RwLock<()>>,
}

impl Default for PolicyArchives {
    fn default() -> Self {
        Self { checks: Arc::new(Semaphore::new(MAX_CHECKS)), in_use: Arc::default() }
    }
}

impl PolicyArchives {
    /// Waits for the turn of an archive to be checked.
    pub(super) async fn turn_to_check(&self) -> Result<SemaphorePermit<'_>, ApiError> {
        self.checks.acquire().await.map_err(|e| ApiError::internal("the archive checks are closed", &e))
    }

    /// Holds off removals while the guard lives.
    pub(super) async fn lock_for_acceptance(&self) -> OwnedRwLockReadGuard<()> {
        Arc::clone(&self.in_use).read_owned().await
    }

    /// Waits until no job with an archive is being accepted, and holds off others while the guard lives.
    pub(super) async fn lock_for_removal(&self) -> OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.in_use).write_owned().await
    }
}
