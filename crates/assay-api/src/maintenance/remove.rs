//! Removal of the files of jobs. All operations are idempotent.

use std::collections::HashSet;
use std::io;

use assay_model::{JobId, Sha256Digest};
use assay_store::{ArchiveFileError, ArchiveRemovalOutcome, BlobError, EvidenceRemoval, Removal, StoreError};

use crate::state::App;
use crate::upload::{self, ArchiveRemovalError};

/// An error while removing files of a job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoveError {
    /// The records could not be read or written.
    #[error("could not access the records")]
    Records(#[from] StoreError),
    /// Evidence could not be removed.
    #[error("could not access the artifact store")]
    Blobs(#[from] BlobError),
    /// The policy archive could not be removed.
    #[error(transparent)]
    Archive(#[from] ArchiveRemovalError),
    /// The policy archives could not be listed.
    #[error("could not list the policy archives")]
    Archives(#[from] ArchiveFileError),
    /// A file could not be removed.
    #[error("could not remove a file")]
    File(#[from] io::Error),
}

/// Removes the files of a job that are due for removal.
pub(crate) async fn remove(app: &App, removal: &Removal) -> Result<(), RemoveError> {
    let job = removal.job_id;
    match removal.evidence {
        EvidenceRemoval::All => app.blobs.erase(job).await?,
        EvidenceRemoval::Unrecorded => app.blobs.retain(job, recorded(app, job).await?).await?,
    }
    if removal.erased {
        app.servers.remove(job)?;
    }
    if let Some(path) = &removal.policy_path
        && upload::remove_archive(app, path).await? == Some(ArchiveRemovalOutcome::Unsettled)
    {
        // The removal stays pending, and the next round of maintenance repeats it.
        return Ok(());
    }
    Ok(app.records.finish_removal(job, app.clock.now()).await?)
}

/// Returns the hashes of the evidence that results and renders of a job refer to.
async fn recorded(app: &App, job: JobId) -> Result<HashSet<Sha256Digest>, StoreError> {
    let (episodes, renders) = (app.records.episodes(job, 0, u32::MAX).await?, app.records.renders(job).await?);
    let files = episodes.iter().flat_map(|episode| &episode.evidence);
    Ok(files.chain(renders.iter().flat_map(|render| &render.files)).map(|file| file.sha256).collect())
}
