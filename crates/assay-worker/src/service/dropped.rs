//! Evidence that no result refers to: of episodes after the end of a certification, and of attempts that were not
//! recorded. Lanes may be ahead of the first failure, so it is removed twice: once when the job is concluded, and again
//! when a lane that was still running stops.

use assay_model::{EpisodeResult, JobHeader};

use super::shared::WorkerShared;

impl WorkerShared {
    /// Removes evidence that `recorded`, the job's results, do not refer to, once they are complete: before that,
    /// another worker may be about to record evidence that is already kept. A failure does not delay the verdict.
    pub(super) fn forget_dropped(&self, header: &JobHeader, recorded: &[EpisodeResult]) {
        let end = recorded.last().filter(|last| header.plan.ends_with(last));
        let wanted = end.map_or(header.episodes_to_run(), |last| last.episode + 1);
        if recorded.len() < wanted as usize {
            return;
        }
        // A lane may stop so late that videos exist already.
        let drawn = match self.wait(self.options.records.renders(header.job_id)) {
            Ok(drawn) => drawn,
            Err(error) => {
                return error.log("could not remove evidence that does not count");
            }
        };
        let kept = recorded.iter().flat_map(|episode| &episode.evidence);
        let kept = kept.chain(drawn.iter().flat_map(|drawn| &drawn.files)).map(|file| file.sha256).collect();
        if let Err(error) = self.wait(self.options.blobs.retain(header.job_id, kept)) {
            tracing::warn!(job.id = %header.job_id, %error, "could not remove evidence that does not count");
        }
    }
}
