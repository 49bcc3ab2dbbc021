//! The last step of a job: the verdict.

use std::fs;
use std::io;

use assay_model::conclude;
use assay_report::attest::Evidence;
use assay_report::json;
use assay_store::{
    ConclusionClaim, ConclusionFence, JobState, Outcome, SIGNED_REPORT, StoreError, signed_folder, signed_folders,
    sync_signed,
};
use jiff::Timestamp;

use super::claims::Held;
use super::{LEASE, Shared};
use crate::Cancel;
use crate::session::platform;
use crate::statement::{STATEMENT_FILE, sha256_of, sign};

impl Shared {
    /// Concludes a job that waits for it; whether there was one.
    pub(super) fn conclude_next(&self) -> bool {
        let claim = self.options.records.claim_conclusion(&self.name, self.options.clock.now(), LEASE);
        match self.wait(claim) {
            Ok(None) => false,
            Ok(Some(mut claim)) => {
                let (id, held) = (claim.fence.job_id, Held::Conclusion(claim.fence));
                let cancel = self.claims.add(held);
                match self.conclude(&mut claim, &cancel) {
                    Ok(true) => tracing::info!(job.id = %id, "concluded"),
                    Ok(false) => tracing::info!(job.id = %id, "the conclusion was drawn elsewhere"),
                    Err(error) => tracing::error!(job.id = %id, %error, "the conclusion could not be written"),
                }
                self.claims.remove(&held);
                true
            }
            Err(error) => {
                tracing::error!(%error, "conclusions could not be claimed");
                false
            }
        }
    }

    /// Whether this worker drew the conclusion. `cancel` tells that the lease was lost, or that the service stops.
    fn conclude(&self, claim: &mut ConclusionClaim, cancel: &Cancel) -> Result<bool, StoreError> {
        self.forget_dropped(&claim.header, &claim.episodes);
        self.judge(claim, cancel)?;
        let claim = &*claim;
        let (records, now) = (&self.options.records, self.options.clock.now());
        let header = &claim.header;
        self.forget_server(header.job_id);
        let Some(mut conclusion) = conclude(&header.plan, header.policy_identity, &claim.episodes) else {
            self.wait(records.return_conclusion(claim.fence, Some("the job has no episodes"), now))?;
            return Ok(false);
        };
        let fingerprint = self.options.engine.fingerprint().clone();
        match self.options.keyring.keyid() {
            Ok(keyid) => conclusion.signed_by = Some(keyid),
            Err(error) => return self.unsigned(claim, &platform(&error).to_string()),
        }
        if cancel.is_cancelled() {
            self.wait(records.return_conclusion(claim.fence, None, now))?;
            return Ok(false);
        }
        let outcome = Outcome { conclusion, fingerprint };
        if let Err(error) = self.sign(claim, &outcome, now)? {
            return self.unsigned(claim, &error);
        }
        let ours = self.wait(records.complete_job(claim.fence, outcome, now))?;
        self.tidy(claim.fence, ours);
        Ok(ours)
    }

    /// A verdict that can't be signed is not given: somebody tries again, and in the end the job FAILS as ours.
    fn unsigned(&self, claim: &ConclusionClaim, why: &str) -> Result<bool, StoreError> {
        tracing::error!(job.id = %claim.fence.job_id, why, "the report could not be signed");
        let reason = Some("the report could not be signed");
        self.wait(self.options.records.return_conclusion(claim.fence, reason, self.options.clock.now()))?;
        Ok(false)
    }

    /// Writes `report.json` and the signed statement into the claim's folder. The inner error is what to tell of a failure.
    fn sign(
        &self,
        claim: &ConclusionClaim,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<Result<(), String>, StoreError> {
        let id = claim.fence.job_id;
        let Some(mut record) = self.wait(self.options.records.job(None, id))? else {
            return Ok(Err("the job is gone".to_owned()));
        };
        let JobState::Judging { started_at } = record.state else { return Ok(Err("the job has ended".to_owned())) };
        let (attempt, outcome) = (claim.fence.attempt, Box::new(outcome.clone()));
        record.state = JobState::Completed { started_at, completed_at: now, attempt, outcome };
        let mut report = record.report(&claim.episodes);
        report.attestation_url = Some(STATEMENT_FILE.to_owned());
        let scenario = self.options.engine.scenario(&claim.header.scenario, &claim.header.scenario_digest);
        let timestep_s = scenario.ok().map(|scenario| scenario.world.timestep_s);
        let folder = signed_folder(&self.options.data, claim.fence);
        let write = || -> Result<(), String> {
            let text = json::render(&report).map_err(|e| e.to_string())?;
            let path = folder.join(SIGNED_REPORT);
            fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text)).map_err(|e| e.to_string())?;
            // Hashed when it was taken over; nobody else has been able to write there since.
            let files = claim.episodes.iter().flat_map(|episode| &episode.evidence);
            let mut evidence: Vec<_> =
                files.map(|file| Evidence { name: file.name.clone(), sha256: file.sha256.clone() }).collect();
            let sha256 = sha256_of(&path).map_err(|e| e.to_string())?;
            evidence.push(Evidence { name: SIGNED_REPORT.to_owned(), sha256 });
            sign(&folder, &report, evidence, timestep_s, &self.options.keyring)
                .map_err(|e| platform(&e).to_string())?;
            sync_signed(&self.options.data, claim.fence).map_err(|e| e.to_string())
        };
        Ok(write())
    }

    /// Removes signed files that do not count: a loser's own, and what losers left for the winner.
    fn tidy(&self, fence: ConclusionFence, ours: bool) {
        let own = signed_folder(&self.options.data, fence);
        let removed = if ours {
            remove_others(&signed_folders(&self.options.data, fence.job_id), &fence.attempt.to_string())
        } else {
            fs::remove_dir_all(own)
        };
        if let Err(error) = removed {
            tracing::warn!(job.id = %fence.job_id, %error, "signed files that do not count stay");
        }
    }
}

/// Removes every folder in `folder` but `keep`.
fn remove_others(folder: &std::path::Path, keep: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != keep {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
