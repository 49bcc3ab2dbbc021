//! The end of an upload: the digest is compared, and the file gets its final name.

use assay_model::{DeclaredModel, Sha256Digest};
use assay_store::{ModelFileError, ModelRecord};

use super::remove::discard;
use crate::disk::disk_error;
use crate::http::{ApiError, ErrorCode};
use crate::state::App;

/// Completes an upload, whose bytes are durable and have the digest `sha256`.
///
/// # Errors
/// 422: another digest was announced; the upload is removed.
pub(super) async fn finish(app: &App, record: &ModelRecord, sha256: Sha256Digest) -> Result<(), ApiError> {
    if sha256 != record.sha256 {
        discard(app, record).await?;
        let message = format!(
            "the file has the SHA-256 {sha256}, but {} was announced; the upload is removed: announce the file again",
            record.sha256
        );
        return Err(ApiError::new(ErrorCode::Unprocessable, message));
    }
    let _guard = app.model_transfers.lock_files().await?;
    let (files, account, upload) = (app.model_files.clone(), record.account.clone(), record.upload);
    let renamed = tokio::task::spawn_blocking(move || files.finish(&account, upload, sha256)).await;
    let renamed = renamed.map_err(|e| ApiError::internal("naming a model panicked", &e))?;
    renamed.map_err(|e| disk_error(app, &e))?;
    app.records.complete_model(upload, app.clock.now()).await?;
    tracing::info!(account = %record.account, %sha256, size_bytes = record.size_bytes, "a model was uploaded");
    Ok(())
}

/// Records an upload as complete if its file has its final name, because the process ended between the two. Returns
/// whether it has.
pub(super) async fn is_adopted(app: &App, record: &ModelRecord) -> Result<bool, ApiError> {
    let _guard = app.model_transfers.lock_files().await?;
    let whole = DeclaredModel { path: String::new(), sha256: record.sha256, size_bytes: Some(record.size_bytes) };
    match app.model_files.resolve(&record.account, &[whole]) {
        Ok(_) => Ok(app.records.complete_model(record.upload, app.clock.now()).await?),
        Err(ModelFileError::Missing(_)) => Ok(false),
        Err(ModelFileError::Io(error)) => Err(disk_error(app, &error)),
    }
}
