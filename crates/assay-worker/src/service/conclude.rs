//! The last step of a job: the verdict.

use std::error::Error;

use assay_model::{ErrorChain, Sha256Digest, Verdict, conclude};
use assay_report::attest::Evidence;
use assay_report::json;
use assay_store::{ConclusionClaim, JobOutcome, JobState, RenderCounts, SignedDocuments, StoreError};
use jiff::Timestamp;

use super::packing;
use super::shared::WorkerShared;
use crate::Cancel;
use crate::shards::claims::Held;
use crate::signing::statement::{STATEMENT_FILE, SignError, state};

/// The report's name in the statement, the same as in the command line's folder.
const REPORT_FILE: &str = "report.json";

/// An error that prevented the signing of a report.
#[derive(Debug, thiserror::Error)]
enum ReportSigningError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the job no longer exists")]
    JobGone,
    #[error("the job has ended")]
    JobEnded,
    #[error(transparent)]
    Report(#[from] json::JsonError),
    #[error(transparent)]
    Statement(#[from] SignError),
}

impl WorkerShared {
    /// Concludes the next job in JUDGING. Returns false if there is none.
    pub(super) fn conclude_next(&self) -> bool {
        let claim = self.options.records.claim_conclusion(&self.name, self.options.clock.now(), self.options.lease);
        match self.wait(claim) {
            Ok(None) => false,
            Ok(Some(mut claim)) => {
                let (id, held) = (claim.fence.job_id, Held::Conclusion(claim.fence));
                let cancel = self.runner.claims.add(held);
                let _span = tracing::info_span!("conclusion", job.id = %id, account = %claim.account).entered();
                match self.conclude(&mut claim, &cancel) {
                    Ok(Some(verdict)) => {
                        let (scenario, episodes) = (&claim.header.scenario, claim.episodes.len());
                        tracing::info!(job.id = %id, %verdict, scenario.id = %scenario, episodes, "job concluded");
                        // Also packs evidence that a killed service left unpacked.
                        packing::pack(&self.options, id, &claim.episodes);
                    }
                    Ok(None) => tracing::info!("conclusion not recorded by this worker"),
                    Err(error) => error.log("could not record conclusion"),
                }
                self.runner.claims.remove(&held);
                true
            }
            Err(error) => {
                error.log("could not claim conclusion");
                false
            }
        }
    }

    /// Draws the conclusion; returns the verdict if this worker drew it. `cancel` is set when the lease is lost or the
    /// service stops.
    fn conclude(&self, claim: &mut ConclusionClaim, cancel: &Cancel) -> Result<Option<Verdict>, StoreError> {
        self.judge(claim, cancel)?;
        let claim = &*claim;
        let (records, now) = (&self.options.records, self.options.clock.now());
        let header = &claim.header;
        self.forget_server(header.job_id);
        let Some(mut conclusion) = conclude(&header.plan, header.policy_identity, &claim.episodes) else {
            self.wait(records.return_conclusion(claim.fence, Some("the job has no episodes"), now))?;
            return Ok(None);
        };
        let machine = claim.machine.as_ref().unwrap_or_else(|| self.options.engine.fingerprint());
        let fingerprint = self.options.engine.fingerprint_of(machine, header);
        match self.options.keyring.keyid() {
            Ok(keyid) => conclusion.signed_by = Some(keyid),
            Err(error) => return self.unsigned(claim, &error),
        }
        if cancel.is_cancelled() {
            self.wait(records.return_conclusion(claim.fence, None, now))?;
            return Ok(None);
        }
        let verdict = conclusion.verdict;
        let outcome = JobOutcome { conclusion, fingerprint };
        let signed = match self.sign(claim, &outcome, now) {
            Ok(signed) => signed,
            Err(ReportSigningError::Store(error)) => return Err(error),
            Err(error) => return self.unsigned(claim, &error),
        };
        Ok(self.wait(records.complete_job(claim.fence, outcome, signed, now))?.then_some(verdict))
    }

    /// Hands back a conclusion that could not be signed; repeated failures end the job with blame `platform`.
    fn unsigned(&self, claim: &ConclusionClaim, error: &dyn Error) -> Result<Option<Verdict>, StoreError> {
        tracing::error!(job.id = %claim.fence.job_id, error = %ErrorChain(error), "could not sign report");
        let reason = Some("the report could not be signed");
        self.wait(self.options.records.return_conclusion(claim.fence, reason, self.options.clock.now()))?;
        Ok(None)
    }

    /// Returns the report and the signed statement about it.
    fn sign(
        &self,
        claim: &ConclusionClaim,
        outcome: &JobOutcome,
        now: Timestamp,
    ) -> Result<SignedDocuments, ReportSigningError> {
        let Some(mut record) = self.wait(self.options.records.job(None, claim.fence.job_id))? else {
            return Err(ReportSigningError::JobGone);
        };
        let JobState::Judging { started_at } = record.state else { return Err(ReportSigningError::JobEnded) };
        record.state = JobState::Completed { started_at, completed_at: now, outcome: Box::new(outcome.clone()) };
        // Renders follow the verdict, and have statements of their own.
        record.renders = RenderCounts::default();
        let mut report = record.report(&claim.episodes);
        report.attestation_path = Some(STATEMENT_FILE.to_owned());
        let scenario = self.options.engine.scenario(&claim.header.scenario, claim.header.scenario_digest);
        let timestep_s = scenario.ok().map(|scenario| scenario.world.timestep_s);
        let text = json::render(&report)?.into_bytes();
        // Files were hashed when they were copied, and no other process has been able to write to them since.
        let files = claim.episodes.iter().flat_map(|episode| &episode.evidence);
        let mut evidence: Vec<_> = files.map(|file| Evidence::new(&file.name, file.sha256)).collect();
        evidence.push(Evidence::new(REPORT_FILE, Sha256Digest::of(&text)));
        let statement = state(&report, evidence, timestep_s, &self.options.keyring)?;
        Ok(SignedDocuments { report: text, statement })
    }
}
