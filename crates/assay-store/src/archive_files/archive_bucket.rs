//! Archives in an object store.
//!
//! Several servers may share the store, and one may remove an archive while another accepts a job with the same one.
//! Every acceptance uploads the archive anew, and a removal leaves archives alone that were uploaded a moment ago.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::fetched::{FetchedArchive, FetchedArchives};
use super::names::FOLDER;
use super::{ARCHIVE_SETTLE_TIME, ArchiveFileError, ArchiveRemovalOutcome};
use crate::{ObjectStorage, ObjectStorageProblem};

/// The archives in an object store.
#[derive(Debug)]
pub(super) struct ArchiveBucket {
    storage: ObjectStorage,
    fetched: FetchedArchives,
}

impl ArchiveBucket {
    pub(super) fn new(storage: ObjectStorage, copies: &Path) -> Self {
        Self { storage, fetched: FetchedArchives::new(copies) }
    }

    pub(super) async fn put(&self, file: &Path, path: &str) -> Result<(), ArchiveFileError> {
        Ok(self.storage.put_file(path, file).await?)
    }

    pub(super) async fn adopt(&self, file: &Path, path: &str) -> Result<(), ArchiveFileError> {
        Ok(self.storage.put_missing_file(path, file).await?)
    }

    pub(super) async fn open(&self, path: &str) -> Result<Arc<FetchedArchive>, ArchiveFileError> {
        self.fetched.open(&self.storage, path).await
    }

    pub(super) async fn remove(&self, path: &str, now: Timestamp) -> Result<ArchiveRemovalOutcome, ArchiveFileError> {
        self.fetched.forget(path);
        match self.storage.facts(path).await {
            Err(error) if error.problem == ObjectStorageProblem::Missing => {}
            Ok(facts) if now.duration_since(facts.uploaded_at) < ARCHIVE_SETTLE_TIME => {
                return Ok(ArchiveRemovalOutcome::Unsettled);
            }
            Ok(_) => self.storage.delete(path).await?,
            Err(error) => return Err(error.into()),
        }
        Ok(ArchiveRemovalOutcome::Removed)
    }

    pub(super) async fn names(&self) -> Result<Vec<String>, ArchiveFileError> {
        let found = self.storage.list(FOLDER).await?;
        Ok(found.into_iter().map(|(name, _)| name).collect())
    }
}
