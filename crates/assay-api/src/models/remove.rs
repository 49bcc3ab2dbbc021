//! Removal of models and of unfinished uploads.

use assay_model::{AccountId, Sha256Digest};
use assay_store::{ModelRecord, ModelRemoval, StoreError};

use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Removes a complete model, unless a job needs it. If the file cannot be deleted, the next start does it.
pub(crate) async fn remove_model(
    app: &App,
    account: &AccountId,
    sha256: Sha256Digest,
) -> Result<ModelRemoval, StoreError> {
    // The same digest may be uploaded again as soon as its row is gone.
    let _guard = app.model_transfers.lock_files().await?;
    let removal = app.records.remove_model(account, sha256).await?;
    if let ModelRemoval::Done(record) = &removal {
        if let Err(error) = app.model_files.remove(account, sha256) {
            tracing::warn!(%account, %sha256, %error, "could not delete the file of a removed model");
        }
        tracing::info!(%account, %sha256, size_bytes = record.size_bytes, "a model was removed");
    }
    Ok(removal)
}

/// Removes an unfinished upload.
///
/// # Errors
/// 409: a request is writing to it.
pub(crate) async fn remove_upload(app: &App, record: &ModelRecord) -> Result<(), ApiError> {
    let Some(mut transfer) = app.model_transfers.acquire(record.upload)? else {
        return Err(ApiError::new(ErrorCode::Conflict, "a request is writing to this upload; end it first"));
    };
    transfer.prefix = None;
    discard(app, record).await?;
    Ok(())
}

/// Removes an upload to which no other request is writing. Returns false if it was completed or removed before.
pub(super) async fn discard(app: &App, record: &ModelRecord) -> Result<bool, StoreError> {
    if !app.records.remove_model_upload(record.upload).await? {
        return Ok(false);
    }
    if let Err(error) = app.model_files.remove_partial(&record.account, record.upload) {
        tracing::warn!(account = %record.account, %error, "could not delete the file of a removed upload");
    }
    Ok(true)
}
