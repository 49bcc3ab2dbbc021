//! The last step of a job: the verdict.

use assay_model::conclude;
use assay_store::{ConclusionClaim, Outcome, StoreError};

use super::shard::job_folder;
use super::{LEASE, Shared};
use crate::evidence;

impl Shared {
    /// Concludes a job that waits for it; whether there was one.
    pub(super) fn conclude_next(&self) -> bool {
        let claim = self.options.records.claim_conclusion(&self.name, self.options.clock.now(), LEASE);
        match self.wait(claim) {
            Ok(None) => false,
            Ok(Some(claim)) => {
                let id = claim.fence.job_id;
                match self.conclude(&claim) {
                    Ok(true) => tracing::info!(job.id = %id, "concluded"),
                    Ok(false) => tracing::info!(job.id = %id, "the conclusion was drawn elsewhere"),
                    Err(error) => tracing::error!(job.id = %id, %error, "the conclusion could not be written"),
                }
                true
            }
            Err(error) => {
                tracing::error!(%error, "conclusions could not be claimed");
                false
            }
        }
    }

    fn conclude(&self, claim: &ConclusionClaim) -> Result<bool, StoreError> {
        let (records, now) = (&self.options.records, self.options.clock.now());
        let header = &claim.header;
        let Some(conclusion) = conclude(&header.plan, header.policy_identity, &claim.episodes) else {
            self.wait(records.return_conclusion(claim.fence, Some("the job has no episodes"), now))?;
            return Ok(false);
        };
        self.forget_dropped(claim);
        let fingerprint = self.options.engine.fingerprint().clone();
        self.wait(records.complete_job(claim.fence, Outcome { conclusion, fingerprint }, now))
    }
    /// Removes the evidence of episodes behind the end of a certification. Failing to is no reason to hold a verdict back.
    fn forget_dropped(&self, claim: &ConclusionClaim) {
        let folder = job_folder(&self.options.data, claim.fence.job_id);
        let counted = u32::try_from(claim.episodes.len()).unwrap_or(u32::MAX);
        for episode in counted..claim.header.plan.episodes {
            if let Err(error) = evidence::forget(&folder, episode) {
                tracing::warn!(job.id = %claim.fence.job_id, episode, %error, "evidence that does not count stays");
            }
        }
    }
}
