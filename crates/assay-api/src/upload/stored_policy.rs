//! Policy archives: in `uploads/` while they are received, among the [`ArchiveFiles`](assay_store::ArchiveFiles) once
//! accepted.

use assay_model::{DeclaredModel, RuntimeVersion, Sha256Digest};
use assay_store::{ArchiveFileError, ArchiveRemovalOutcome, StoreError};
use tempfile::NamedTempFile;

use super::form::UploadForm;
use super::policy_archives::AcceptanceLock;
use crate::blob_error::archive_error;
use crate::disk::disk_error;
use crate::http::{ApiError, Caller, ErrorCode};
use crate::models;
use crate::state::App;
use crate::{CheckedPolicy, IntakeFailure};

/// A policy archive at its final place. It is protected from removal until this is dropped; by then a job must need it.
#[derive(Debug)]
pub(crate) struct StoredPolicy {
    _in_use: AcceptanceLock,
    /// Relative to the data folder.
    pub(crate) path: String,
    pub(crate) sha256: Sha256Digest,
    pub(crate) runtime: RuntimeVersion,
    pub(crate) size_bytes: u64,
    /// Models of the account that the policy declares.
    pub(crate) models: Vec<DeclaredModel>,
    pub(crate) warnings: Vec<String>,
}

/// An error while removing a policy archive.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveRemovalError {
    /// The records could not be read.
    #[error("could not access the records")]
    Records(#[from] StoreError),
    /// The archive could not be removed.
    #[error("could not remove a policy archive")]
    File(#[from] ArchiveFileError),
    /// The archives could not be locked, because other servers use them.
    #[error("could not lock the policy archives")]
    Locked(#[from] std::io::Error),
}

/// Checks the form's archive and stores it.
pub(crate) async fn accept(app: &App, caller: &Caller, form: UploadForm) -> Result<StoredPolicy, ApiError> {
    let Some(upload) = form.policy else {
        return Err(ApiError::invalid("policy", None, "policy is missing"));
    };
    let archives = &app.policy_archives;
    let _permit = archives.turn_to_check().await?;
    let in_use = archives.lock_for_acceptance().await.map_err(|error| disk_error(app, &error))?;
    let (file, checked) = check(app, upload.file).await?;
    models::require(app, &caller.key.account, &checked.models).await?;
    let app = app.clone();
    // Continues if the client disconnects: an upload to an object store is completed, or nothing is stored.
    let task = tokio::spawn(async move { store(&app, file, checked, in_use).await });
    task.await.map_err(|e| ApiError::internal("storing an archive panicked", &e))?
}

async fn check(app: &App, file: NamedTempFile) -> Result<(NamedTempFile, CheckedPolicy), ApiError> {
    let app = app.clone();
    let task = tokio::task::spawn_blocking(move || {
        let checked = app.intake.check(file.path()).map_err(|failure| intake_error(&app, failure))?;
        Ok((file, checked))
    });
    task.await.map_err(|e| ApiError::internal("checking an archive panicked", &e))?
}

/// Maps a failed check of a policy to an API error.
pub(crate) fn intake_error(app: &App, failure: IntakeFailure) -> ApiError {
    match failure {
        IntakeFailure::Refused { field, message } => ApiError::invalid(field, None, message),
        IntakeFailure::MissingModel(sha256) => ApiError::missing_model(sha256),
        IntakeFailure::NotRun(why) => ApiError::new(ErrorCode::Unavailable, why),
        IntakeFailure::Broken(error) => disk_error(app, &error),
    }
}

/// Stores a file that was checked.
async fn store(
    app: &App,
    file: NamedTempFile,
    checked: CheckedPolicy,
    in_use: AcceptanceLock,
) -> Result<StoredPolicy, ApiError> {
    let size_bytes = file.as_file().metadata().map_err(|e| disk_error(app, &e))?.len();
    let path = app.archives.put(file, checked.sha256).await.map_err(|error| archive_error(app, error))?;
    let CheckedPolicy { sha256, runtime, models, warnings } = checked;
    Ok(StoredPolicy { _in_use: in_use, path, sha256, runtime, size_bytes, models, warnings })
}

/// Removes the archive of a job that was not accepted, unless another job needs it. To be called once the
/// [`StoredPolicy`] is dropped; continues if its caller is cancelled.
pub(crate) async fn discard(app: &App, path: Option<String>) {
    let Some(path) = path else { return };
    let app = app.clone();
    let removal = tokio::spawn(async move {
        if let Err(error) = remove_archive(&app, &path).await {
            tracing::warn!(%error, path, "could not remove the archive of a job that was not accepted");
        }
    });
    // The task logs its own errors.
    let _ = removal.await;
}

/// Removes an archive unless a job needs it. Returns what happened to it, or `None` if a job needs it.
pub(crate) async fn remove_archive(
    app: &App,
    path: &str,
) -> Result<Option<ArchiveRemovalOutcome>, ArchiveRemovalError> {
    // No job with this archive may be accepted between the check and the removal.
    let _guard = app.policy_archives.lock_for_removal().await?;
    if app.records.is_policy_needed(path).await? {
        return Ok(None);
    }
    Ok(Some(app.archives.remove(path, app.clock.now()).await?))
}
