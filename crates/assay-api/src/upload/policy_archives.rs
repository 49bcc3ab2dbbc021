//! Coordination of the acceptance and the removal of policy archives.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, Semaphore, SemaphorePermit};

use crate::folder_locks::{FolderLock, FolderLocks};
use crate::http::ApiError;

/// Maximum number of archives checked at a time; each check occupies a processor.
const MAX_CHECKS: usize = 4;
/// The lock between servers.
const LOCK: &str = "policies";

/// Coordinates the acceptance and removal of policy archives; shared by all its clones.
#[derive(Debug, Clone)]
pub struct PolicyArchives {
    checks: Arc<Semaphore>,
    /// Locked for reading from before an archive is moved to its final path until its job has a row; locked for writing
    /// while an archive that no job needs is removed. The same lock of the folder holds between servers.
    in_use: Arc<RwLock<()>>,
    locks: FolderLocks,
}

/// Holds off removals while it lives.
#[derive(Debug)]
pub(super) struct AcceptanceLock {
    _here: OwnedRwLockReadGuard<()>,
    _elsewhere: FolderLock,
}

/// Holds off acceptances while it lives.
#[derive(Debug)]
pub(super) struct RemovalLock {
    _here: OwnedRwLockWriteGuard<()>,
    _elsewhere: FolderLock,
}

impl PolicyArchives {
    /// Creates the coordination of the servers that use these locks.
    #[must_use]
    pub fn new(locks: FolderLocks) -> Self {
        Self { checks: Arc::new(Semaphore::new(MAX_CHECKS)), in_use: Arc::default(), locks }
    }

    /// Waits for the turn of an archive to be checked.
    pub(super) async fn turn_to_check(&self) -> Result<SemaphorePermit<'_>, ApiError> {
        self.checks.acquire().await.map_err(|e| ApiError::internal("the archive checks are closed", &e))
    }

    /// Holds off removals while the lock lives.
    ///
    /// # Errors
    /// The lock of the folder cannot be had.
    pub(super) async fn lock_for_acceptance(&self) -> std::io::Result<AcceptanceLock> {
        let here = Arc::clone(&self.in_use).read_owned().await;
        Ok(AcceptanceLock { _here: here, _elsewhere: self.locks.lock_shared(LOCK).await? })
    }

    /// Waits until no job with an archive is being accepted, and holds off others while the lock lives.
    ///
    /// # Errors
    /// As [`Self::lock_for_acceptance`].
    pub(super) async fn lock_for_removal(&self) -> std::io::Result<RemovalLock> {
        let here = Arc::clone(&self.in_use).write_owned().await;
        Ok(RemovalLock { _here: here, _elsewhere: self.locks.lock(LOCK).await? })
    }
}
