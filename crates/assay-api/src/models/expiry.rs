//! Removal of models and uploads by age, and of files that a killed server left.

use assay_store::{ModelRemoval, StoreError, StoredModelFile};
use jiff::Timestamp;

use super::finish::is_adopted;
use super::remove::{discard, remove_model};
use crate::Retention;
use crate::state::App;

/// Removes unfinished uploads that expired, at most `limit`.
pub(crate) async fn remove_expired(app: &App, limit: u32) -> Result<(), StoreError> {
    let now = app.clock.now();
    for record in app.records.expired_model_uploads(now, limit).await? {
        // A busy upload receives more and will expire later.
        let Some(mut transfer) = app.model_transfers.acquire(record.upload)? else { continue };
        let current = app.records.model_upload(&record.account, record.upload).await?;
        if current.as_ref() == Some(&record) {
            transfer.prefix = None;
            if discard(app, &record).await? {
                tracing::info!(account = %record.account, sha256 = %record.sha256, "an unfinished upload expired");
            }
        }
    }
    Ok(())
}

/// Removes models that were not used for longer than `retention.model_days`, at most `limit`.
pub(crate) async fn remove_unused(app: &App, limit: u32) -> Result<(), StoreError> {
    let Some(age) = Retention::age(app.settings.retention.model_days) else { return Ok(()) };
    let before = app.clock.now().saturating_sub(age).unwrap_or(Timestamp::MIN);
    for record in app.records.unused_models(before, limit).await? {
        // A job may have been accepted since.
        if let ModelRemoval::Done(_) = remove_model(app, &record.account, record.sha256).await? {
            tracing::info!(account = %record.account, sha256 = %record.sha256, "a model expired by age");
        }
    }
    Ok(())
}

/// Removes files without a record, and completes uploads whose file already has its final name.
pub(crate) async fn remove_orphans(app: &App) -> Result<(), StoreError> {
    let files = match app.model_files.list() {
        Ok(files) => files,
        Err(error) => {
            tracing::warn!(%error, "could not list the files of models");
            return Ok(());
        }
    };
    for (account, file) in files {
        let removed = match file {
            StoredModelFile::Complete(sha256) => {
                match app.records.model(&account, sha256).await? {
                    Some(record) if record.is_ready() => continue,
                    // An error was logged, and the upload stays as it is.
                    Some(record) if is_adopted(app, &record).await.unwrap_or(true) => continue,
                    _ => {}
                }
                let _guard = app.model_transfers.lock_files().await?;
                match app.records.model(&account, sha256).await? {
                    Some(record) if record.is_ready() => continue,
                    _ => app.model_files.remove(&account, sha256),
                }
            }
            StoredModelFile::Partial(upload) => match app.records.model_upload(&account, upload).await? {
                Some(record) if !record.is_ready() => continue,
                _ => app.model_files.remove_partial(&account, upload),
            },
            StoredModelFile::Other(_) => continue,
        };
        match removed {
            Ok(()) => tracing::info!(%account, "removed a file of a model that no record names"),
            Err(error) => tracing::warn!(%account, %error, "could not remove a file of a model that no record names"),
        }
    }
    Ok(())
}
