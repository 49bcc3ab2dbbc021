//! The uploads of models in progress in this process: which are being written to, and the hash of what they have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::{ModelUploadId, Sha256Writer};

/// The uploads in progress; shared by all its clones.
#[derive(Debug, Clone, Default)]
pub struct ModelTransfers {
    /// At most one entry per unfinished upload.
    uploads: Arc<Mutex<HashMap<ModelUploadId, TransferState>>>,
    /// Held while a complete file is renamed and recorded, or its record and then the file are removed.
    files: Arc<tokio::sync::Mutex<()>>,
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
}

impl ModelTransfers {
    /// Returns the right to change an upload, or `None` while another request has it.
    pub(super) fn acquire(&self, upload: ModelUploadId) -> Option<ModelTransfer> {
        let prefix = match self.lock().insert(upload, TransferState::Busy) {
            Some(TransferState::Busy) => return None,
            Some(TransferState::Idle(prefix)) => Some(prefix),
            None => None,
        };
        Some(ModelTransfer { transfers: self.clone(), upload, prefix })
    }

    /// Waits until no complete file is being named or removed.
    pub(super) async fn lock_files(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.files.lock().await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ModelUploadId, TransferState>> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let mut first = transfers.acquire(upload).unwrap();
        assert!(first.prefix.is_none());
        assert!(transfers.acquire(upload).is_none());
        assert!(transfers.acquire(ModelUploadId(Uuid::from_u128(2))).is_some());
        first.prefix = Some(HashedPrefix { hash: Sha256Writer::default(), bytes: 7 });
        drop(first);
        let mut second = transfers.acquire(upload).unwrap();
        assert_eq!(second.prefix.take().unwrap().bytes, 7);
        drop(second);
        assert!(transfers.lock().is_empty(), "nothing is kept for an upload that ended");
    }
}
