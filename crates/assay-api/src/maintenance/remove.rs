//! Removal of the files of jobs. All operations are idempotent.

use std::io::{self, ErrorKind};

use assay_store::{BlobError, Removal, StoreError};

use crate::state::App;

/// An error while removing files of a job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoveError {
    /// The records could not be read or written.
    #[error("could not access the records")]
    Records(#[from] StoreError),
    /// Evidence could not be removed.
    #[error("could not access the artifact store")]
    Blobs(#[from] BlobError),
    /// A file could not be removed.
    #[error("could not remove a file")]
    File(#[from] io::Error),
}

/// Removes the files of a job that are due for removal.
pub(crate) async fn remove(app: &App, removal: &Removal) -> Result<(), RemoveError> {
    let job = removal.job_id;
    if removal.evidence {
        app.blobs.erase(job).await?;
    }
    if removal.erased {
        app.servers.remove(job)?;
    }
    if let Some(path) = &removal.policy_path {
        remove_policy(app, path).await?;
    }
    Ok(app.records.finish_removal(job, app.clock.now()).await?)
}

/// Removes an archive unless a job needs it. Returns whether it was removed.
pub(crate) async fn remove_policy(app: &App, path: &str) -> Result<bool, RemoveError> {
    // No job with this archive may be accepted between the check and the removal.
    let _guard = app.policy_archives.lock_for_removal().await;
    if app.records.is_policy_needed(path).await? {
        return Ok(false);
    }
    ignore_missing(tokio::fs::remove_file(app.data.join(path)).await)?;
    Ok(true)
}

fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
