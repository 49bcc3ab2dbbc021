//! Files go. Doing it again is harmless.

use std::io::{self, ErrorKind};

use assay_store::{BlobError, Removal, StoreError};

use crate::state::App;
use crate::upload::POLICIES_IN_USE;

/// Why files of a job are still there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoveError {
    /// The records can't tell, or can't be told.
    #[error("the records")]
    Records(#[from] StoreError),
    /// Evidence.
    #[error("the store of artifacts")]
    Blobs(#[from] BlobError),
    /// Anything else.
    #[error("a file")]
    File(#[from] io::Error),
}

/// Removes what is to go of a job.
pub(crate) async fn remove(app: &App, removal: &Removal) -> Result<(), RemoveError> {
    let job = removal.job_id;
    if removal.evidence {
        app.blobs.erase(job).await?;
    }
    if removal.erased {
        app.servers.forget(job)?;
    }
    if let Some(path) = &removal.policy_path {
        remove_policy(app, path).await?;
    }
    Ok(app.records.removed(job, app.clock.now()).await?)
}

/// Removes an archive, unless a job needs it: whether it is gone.
pub(crate) async fn remove_policy(app: &App, path: &str) -> Result<bool, RemoveError> {
    // Nobody may be about to accept a job with this archive between the look and the removal.
    let _nobody = POLICIES_IN_USE.write().await;
    if app.records.needs_policy(path).await? {
        return Ok(false);
    }
    gone(tokio::fs::remove_file(app.data.join(path)).await)?;
    Ok(true)
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
