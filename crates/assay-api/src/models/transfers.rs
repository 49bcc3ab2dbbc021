//! The uploads of models in progress: which are being written to, and the hash of what they have.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::{ModelUploadId, Sha256Writer};
use assay_store::{DatabaseProblem, StoreError};

use crate::folder_locks::{FolderLock, FolderLocks};

/// The lock between servers of the complete files.
const FILES_LOCK: &str = "models";

/// The uploads in progress; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct ModelTransfers {
    /// At most one entry per unfinished upload.
    uploads: Arc<Mutex<HashMap<ModelUploadId, TransferState>>>,
    /// Held while a complete file is renamed and recorded, or its record and then the file are removed.
    files: Arc<tokio::sync::Mutex<()>>,
    locks: FolderLocks,
}

/// The state of an upload between two requests, and during one.
#[derive(Debug)]
enum TransferState {
    Busy,
    Idle(HashedPrefix),
}

/// The hash of the first bytes of an upload, so that they are not read again for each piece.
#[derive(Debug)]
pub(super) struct HashedPrefix {
    pub(super) hash: Sha256Writer,
    pub(super) bytes: u64,
}

/// The exclusive right to change an upload; released when dropped.
#[derive(Debug)]
pub(super) struct ModelTransfer {
    transfers: ModelTransfers,
    upload: ModelUploadId,
    /// Kept for the next request.
    pub(super) prefix: Option<HashedPrefix>,
    /// Held between servers.
    _lock: FolderLock,
}

/// Holds off the naming and removal of complete files while it lives.
#[derive(Debug)]
pub(super) struct ModelFilesLock<'a> {
    _here: tokio::sync::MutexGuard<'a, ()>,
    _elsewhere: FolderLock,
}

impl ModelTransfers {
    /// Creates the uploads of the servers that use these locks.
    #[must_use]
    pub fn new(locks: FolderLocks) -> Self {
        Self { locks, ..Self::default() }
    }

    /// Returns the right to change an upload, or `None` while another request has it.
    ///
    /// # Errors
    /// The lock of the folder cannot be used.
    pub(super) fn acquire(&self, upload: ModelUploadId) -> Result<Option<ModelTransfer>, StoreError> {
        let mut uploads = self.lock();
        if matches!(uploads.get(&upload), Some(TransferState::Busy)) {
            return Ok(None);
        }
        let Some(lock) = self.locks.try_lock(&upload.to_string()).map_err(not_locked)? else { return Ok(None) };
        let prefix = match uploads.insert(upload, TransferState::Busy) {
            Some(TransferState::Idle(prefix)) => Some(prefix),
            _ => None,
        };
        Ok(Some(ModelTransfer { transfers: self.clone(), upload, prefix, _lock: lock }))
    }

    /// Waits until no complete file is being named or removed.
    ///
    /// # Errors
    /// The lock of the folder cannot be had.
    pub(super) async fn lock_files(&self) -> Result<ModelFilesLock<'_>, StoreError> {
        let here = self.files.lock().await;
        Ok(ModelFilesLock { _here: here, _elsewhere: self.locks.lock(FILES_LOCK).await.map_err(not_locked)? })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ModelUploadId, TransferState>> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_locked(error: io::Error) -> StoreError {
    let doing = "locking the files of models in the data folder";
    StoreError::Database { doing, problem: DatabaseProblem::Unavailable, source: Arc::new(error) }
}

impl Drop for ModelTransfer {
    fn drop(&mut self) {
        let mut uploads = self.transfers.lock();
        match self.prefix.take() {
            Some(prefix) => uploads.insert(self.upload, TransferState::Idle(prefix)),
            None => uploads.remove(&self.upload),
        };
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_upload_has_one_writer_and_keeps_its_hash() {
        let (transfers, upload) = (ModelTransfers::default(), ModelUploadId(Uuid::from_u128(1)));
        let mut first = transfers.acquire(upload).unwrap().unwrap();
        assert!(first.prefix.is_none());
        assert!(transfers.acquire(upload).unwrap().is_none());
        assert!(transfers.acquire(ModelUploadId(Uuid::from_u128(2))).unwrap().is_some());
        first.prefix = Some(HashedPrefix { hash: Sha256Writer::default(), bytes: 7 });
        drop(first);
        let mut second = transfers.acquire(upload).unwrap().unwrap();
        assert_eq!(second.prefix.take().unwrap().bytes, 7);
        drop(second);
        assert!(transfers.lock().is_empty(), "nothing is kept for an upload that ended");
    }
}
