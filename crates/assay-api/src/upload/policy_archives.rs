//! Archives on the disk: `uploads/` while they come in, `policies/<sha256>.zip` once accepted.

use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use assay_store::is_disk_full;
use tempfile::NamedTempFile;
use tokio::sync::{RwLock, RwLockReadGuard, Semaphore};

use super::form::UploadForm;
use crate::disk;
use crate::http::{ApiError, ErrorCode};
use crate::maintenance;
use crate::state::App;
use crate::{CheckedPolicy, IntakeFailure};

pub(super) const UPLOADS: &str = "uploads";
pub(crate) const POLICIES: &str = "policies";

/// Archives looked into at a time: each takes a processor.
static CHECKS: Semaphore = Semaphore::const_new(4);

/// Read by whoever is about to accept a job with an archive, from before the archive is put in its place until the job has
/// its row; written by whoever removes archives that no job needs.
pub(crate) static POLICIES_IN_USE: RwLock<()> = RwLock::const_new(());

/// An archive that is on the disk for good, once a job needs it: to be held until then.
#[derive(Debug)]
pub(crate) struct StoredPolicy {
    _in_use: RwLockReadGuard<'static, ()>,
    /// Relative to the data folder.
    pub(crate) path: String,
    pub(crate) sha256: String,
    pub(crate) size_bytes: u64,
    pub(crate) warnings: Vec<String>,
}

/// The data folder could not be prepared.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare the folder {}", path.display())]
pub struct PrepareError {
    /// Which folder.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: std::io::Error,
}

/// Makes the folders that uploads need, and deletes what a killed server left half received. To be called at start, by
/// the holder of the data folder.
///
/// # Errors
/// [`PrepareError`] names the folder.
pub fn prepare_folders(data: &Path) -> Result<(), PrepareError> {
    for name in [UPLOADS, POLICIES] {
        let path = data.join(name);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|source| PrepareError { path, source })?;
    }
    let uploads = data.join(UPLOADS);
    let swept = std::fs::read_dir(&uploads)
        .and_then(|mut entries| entries.try_for_each(|entry| std::fs::remove_file(entry?.path())));
    swept.map_err(|source| PrepareError { path: uploads, source })
}

/// Checks the form's archive and keeps it.
pub(crate) async fn accept(app: &App, form: UploadForm) -> Result<StoredPolicy, ApiError> {
    let Some(upload) = form.policy else {
        return Err(ApiError::invalid("policy", None, "policy is missing"));
    };
    let _turn = CHECKS.acquire().await.map_err(|e| ApiError::internal("no turn to check an archive", &e))?;
    let in_use = POLICIES_IN_USE.read().await;
    let app = app.clone();
    let task = tokio::task::spawn_blocking(move || {
        let checked = app.intake.check(upload.file.path()).map_err(|failure| refusal(&app, failure))?;
        keep(&app, upload.file, checked, in_use)
    });
    task.await.map_err(|e| ApiError::internal("checking an archive panicked", &e))?
}

pub(crate) fn refusal(app: &App, failure: IntakeFailure) -> ApiError {
    match failure {
        IntakeFailure::Refused { field, message } => ApiError::invalid(field, None, message),
        IntakeFailure::NotRun(why) => ApiError::new(ErrorCode::Unavailable, why),
        IntakeFailure::Broken(error) => disk_error(app, &error),
    }
}

/// Checks what the intake says, and keeps the file.
fn keep(
    app: &App,
    file: NamedTempFile,
    checked: CheckedPolicy,
    in_use: RwLockReadGuard<'static, ()>,
) -> Result<StoredPolicy, ApiError> {
    let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if checked.sha256.len() != 64 || !checked.sha256.bytes().all(hexadecimal) {
        let error = std::io::Error::other("not a SHA-256 in hexadecimal");
        return Err(ApiError::internal("the intake named an archive wrongly", &error));
    }
    let path = format!("{POLICIES}/{}.zip", checked.sha256);
    let size_bytes = file.as_file().metadata().map_err(|e| disk_error(app, &e))?.len();
    put(file, &app.data.join(&path), &app.data.join(POLICIES)).map_err(|e| disk_error(app, &e))?;
    Ok(StoredPolicy { _in_use: in_use, path, sha256: checked.sha256, size_bytes, warnings: checked.warnings })
}

/// Puts the file at its place in `folder`, and both on the disk. A new one gets its name first, so that the file system has
/// one change to write instead of two; a half-written one that a power cut leaves has no job and goes at the next start. One
/// of the same content may be some job's: it is replaced, by a file that is on the disk already.
fn put(file: NamedTempFile, place: &Path, folder: &Path) -> std::io::Result<()> {
    match file.persist_noclobber(place) {
        Ok(kept) => kept.sync_all()?,
        Err(taken) if taken.error.kind() == ErrorKind::AlreadyExists => {
            taken.file.as_file().sync_all()?;
            taken.file.persist(place).map_err(|e| e.error)?;
        }
        Err(failed) => return Err(failed.error),
    }
    File::open(folder)?.sync_all()
}

/// Removes the archive of a job that was not accepted, unless another job needs it. To be called when nobody holds the
/// [`StoredPolicy`] any more; goes on when its caller goes away.
pub(crate) async fn forget(app: &App, path: Option<String>) {
    let Some(path) = path else { return };
    let app = app.clone();
    let removal = tokio::spawn(async move {
        if let Err(error) = maintenance::remove_policy(&app, &path).await {
            tracing::warn!(%error, path, "the archive of a job that was not accepted could not be removed");
        }
    });
    // It says by itself what went wrong.
    let _ = removal.await;
}

/// A full disk passes; anything else is a fault.
pub(crate) fn disk_error(app: &App, error: &std::io::Error) -> ApiError {
    if is_disk_full(error) {
        app.storage.files_failed(&error.to_string());
        return disk::full();
    }
    ApiError::internal("the disk failed", error)
}
