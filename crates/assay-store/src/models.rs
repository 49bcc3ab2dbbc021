//! Models: large files that an account uploads once, for the policies that name them by their digest.
//!
//! A row is created when a model is announced and counts against its account's quota from then on. Models belong to
//! their account: every method names it, and a digest says nothing about the models of others.

use assay_model::{AccountId, JobId, ModelUploadId, Sha256Digest};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::{Cap, CapExceeded, StoreError};

/// Seconds after which an account that is over its quota may try again.
const RETRY_S: u64 = 30;
/// Maximum number of jobs listed in [`ModelRemoval::InUse`].
pub const MAX_LISTED_JOBS: u32 = 20;

/// A model, or its upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRecord {
    /// Its account.
    pub account: AccountId,
    /// SHA-256 of the file: announced, and verified once it is complete.
    pub sha256: Sha256Digest,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Name that the account gave it.
    pub name: Option<String>,
    /// Id of its upload.
    pub upload: ModelUploadId,
    /// Number of bytes that are durable on the disk.
    pub received_bytes: u64,
    /// Time of the announcement.
    pub created_at: Timestamp,
    /// Its progress.
    pub state: ModelState,
}

impl ModelRecord {
    /// Returns true if the file is complete.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self.state, ModelState::Ready { .. })
    }
}

/// The progress of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelState {
    /// Parts are missing.
    Uploading {
        /// Time at which the upload is removed, unless more is received before.
        expires_at: Timestamp,
    },
    /// It is complete, and its digest was verified.
    Ready {
        /// Time at which it was completed.
        completed_at: Timestamp,
    },
}

/// A model that an account is about to upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewModel {
    /// Its account.
    pub account: AccountId,
    /// SHA-256 of the file.
    pub sha256: Sha256Digest,
    /// Size of the file in bytes.
    pub size_bytes: u64,
    /// Name that the account gives it.
    pub name: Option<String>,
    /// Id of a new upload.
    pub upload: ModelUploadId,
    /// Current time.
    pub created_at: Timestamp,
    /// Time at which the upload is removed, unless something is received before.
    pub expires_at: Timestamp,
}

/// Maximum number and size of the models of an account, unfinished uploads included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelQuota {
    /// Number of models.
    pub models: u64,
    /// Their total size in bytes.
    pub bytes: u64,
}

/// Fails if an account that `has` a number of models with a total size would have more than its quota with one more.
pub(crate) fn admit(quota: ModelQuota, has: (u64, u64), size_bytes: u64) -> Result<(), StoreError> {
    let over = [(Cap::Models, quota.models, has.0, 1), (Cap::ModelBytes, quota.bytes, has.1, size_bytes)];
    match over.into_iter().find(|(_, maximum, current, more)| current.saturating_add(*more) > *maximum) {
        None => Ok(()),
        Some((cap, maximum, current, _)) => {
            Err(StoreError::CapExceeded(CapExceeded { cap, maximum, current, frees_at: None, retry_s: RETRY_S }))
        }
    }
}

/// Result of announcing a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnnounceOutcome {
    /// The upload was created.
    New(ModelRecord),
    /// The account has a model or an unfinished upload with this digest, which is unchanged. Its size may differ from
    /// the announced one.
    Known(ModelRecord),
}

/// Result of removing a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelRemoval {
    /// Its row is removed; the file can be deleted.
    Done(ModelRecord),
    /// These jobs need it, at most [`MAX_LISTED_JOBS`] of them; nothing changed.
    InUse(Vec<JobId>),
    /// The account has no such model.
    NotFound,
}

/// Repository of models.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait ModelRecords {
    /// Creates an upload, unless the account has the digest already. [`StoreError::CapExceeded`] if the account would
    /// have more than its quota.
    async fn announce_model(&self, new: NewModel, quota: ModelQuota) -> Result<AnnounceOutcome, StoreError>;

    /// Returns a model of an account, complete or not.
    async fn model(&self, account: &AccountId, sha256: Sha256Digest) -> Result<Option<ModelRecord>, StoreError>;

    /// Returns a model of an account by the id of its upload, complete or not.
    async fn model_upload(&self, account: &AccountId, upload: ModelUploadId)
    -> Result<Option<ModelRecord>, StoreError>;

    /// Lists a page of an account's models, newest first. The number is that of all of them.
    async fn models(&self, account: &AccountId, limit: u32, offset: u32)
    -> Result<(Vec<ModelRecord>, u64), StoreError>;

    /// Records the number of an upload's bytes that are durable, and its new expiry. Returns false if there is no such
    /// unfinished upload.
    async fn record_model_bytes(
        &self,
        upload: ModelUploadId,
        received_bytes: u64,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Records that an upload is complete and verified. Returns false if there is no such unfinished upload.
    async fn complete_model(&self, upload: ModelUploadId, now: Timestamp) -> Result<bool, StoreError>;

    /// Removes a complete model, unless a job needs it: one that has not ended, or a submission of a season that is not
    /// closed and whose policy is kept.
    async fn remove_model(&self, account: &AccountId, sha256: Sha256Digest) -> Result<ModelRemoval, StoreError>;

    /// Removes an unfinished upload. Returns false if there is none.
    async fn remove_model_upload(&self, upload: ModelUploadId) -> Result<bool, StoreError>;

    /// Lists unfinished uploads that expired by `now`, at most `limit`.
    async fn expired_model_uploads(&self, now: Timestamp, limit: u32) -> Result<Vec<ModelRecord>, StoreError>;

    /// Lists complete models that were neither uploaded nor used since `before`, at most `limit`: no job that ended
    /// later used them, and no job needs them.
    async fn unused_models(&self, before: Timestamp, limit: u32) -> Result<Vec<ModelRecord>, StoreError>;
}
