//! Evidence behind the end of a certification. Lanes may be further than the first failure, so it is removed twice: what
//! is there when the job is concluded, and what a lane that was still at it leaves when it stops.

use assay_model::{EpisodeResult, JobHeader};

use super::Shared;
use super::shard::job_folder;
use crate::evidence;

impl Shared {
    /// Removes the evidence of episodes behind the failure that ended the job, if one did. `recorded` are its results.
    /// What can't be removed is no reason to hold a verdict back.
    pub(super) fn forget_dropped(&self, header: &JobHeader, recorded: &[EpisodeResult]) {
        let Some(end) = recorded.last().filter(|last| header.plan.ends_with(last)) else { return };
        let folder = job_folder(&self.options.data, header.job_id);
        for episode in end.episode + 1..header.plan.episodes {
            if let Err(error) = evidence::forget(&folder, episode) {
                tracing::warn!(job.id = %header.job_id, episode, %error, "evidence that does not count stays");
            }
        }
    }
}
