//! Compresses kept evidence when no verdict is waiting: each episode's once it is recorded, except the last one's,
//! which is packed after the verdict.

use assay_model::{EpisodeResult, ErrorChain, JobId, Sha256Digest};

use super::options::ServiceOptions;
use crate::SessionError;

/// Packs the evidence of recorded episodes. Evidence that is already packed or gone is skipped.
pub(super) fn pack<'a>(options: &ServiceOptions, job: JobId, results: impl IntoIterator<Item = &'a EpisodeResult>) {
    let (blobs, health) = (options.blobs.clone(), options.health.clone());
    let files = results.into_iter().flat_map(|result| &result.evidence);
    let hashes: Vec<Sha256Digest> = files.map(|file| file.sha256).collect();
    options.runtime.spawn(async move {
        for sha256 in hashes {
            match blobs.pack(job, sha256).await.map_err(SessionError::of) {
                Ok(_) => {}
                Err(SessionError::Outage(error)) => health.files_failed(ErrorChain(&*error)),
                Err(error) => {
                    tracing::warn!(job.id = %job, %sha256, error = %ErrorChain(&error), "could not compress evidence");
                }
            }
        }
    });
}
