//! Makes kept evidence smaller when nobody waits for it: each episode's once it is recorded, but the last one's, which
//! the verdict follows, after that.

use assay_model::{EpisodeResult, JobId};

use super::WorkerShared;
use crate::SessionError;
use crate::episode::session::platform;

impl WorkerShared {
    /// Has the evidence of recorded episodes made smaller. What is packed already, or gone, is left alone.
    pub(super) fn pack<'a>(&self, job: JobId, results: impl IntoIterator<Item = &'a EpisodeResult>) {
        let (blobs, health) = (self.options.blobs.clone(), self.options.health.clone());
        let files = results.into_iter().flat_map(|result| &result.evidence);
        let hashes: Vec<String> = files.map(|file| file.sha256.clone()).collect();
        self.options.runtime.spawn(async move {
            for sha256 in hashes {
                match blobs.pack(job, &sha256).await.map_err(|error| platform(&error)) {
                    Ok(_) => {}
                    Err(SessionError::Outage(why)) => health.files_failed(&why),
                    Err(error) => {
                        tracing::warn!(job.id = %job, sha256, %error, "evidence stays as large as it is");
                    }
                }
            }
        });
    }
}
