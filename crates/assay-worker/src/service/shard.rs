//! A shard: its episodes on one lane.

use std::collections::VecDeque;
use std::error::Error;
use std::io;
use std::path::Path;

use assay_model::{Blame, ErrorChain};
use assay_policy::{IntakeLimits, PolicyHome, intake};
use assay_store::{
    Claim, JobFailure, MAX_RETRIES, ModelFile, ReturnOutcome, ShardKind, StoreError, Work, is_disk_full,
};
use jiff::SignedDuration;
use tempfile::TempDir;

use super::busy::Busy;
use super::claims::Held;
use super::intervals::LEASE;
use super::quiet::Quiet;
use super::shard_end::ShardEnd;
use super::shard_recorder::ShardRecorder;
use super::shared::WorkerShared;
use super::warm_lane::WarmLane;
use crate::episode::lane_session::LaneSession;
use crate::{Cancel, Job, PolicyFolder, PolicySource, ScenarioGone, SessionError, episode_share};

/// Pause before a shard is retried after an outage of storage, multiplied by the number of claims.
const OUTAGE_STEP: SignedDuration = SignedDuration::from_secs(1);
/// Maximum pause before a shard is retried after an outage of storage.
const OUTAGE_PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// Free space on a disk that is not full: a job that finds none anyway uses more by itself.
const ROOM_BYTES: u64 = 256 << 20;
/// Folder of an unpacked policy in a shard's work folder.
const POLICY: &str = "policy";

/// Temporary folders of the work on a shard, removed when it ends.
pub(super) struct ShardWorkspace {
    /// Files that jails read.
    work: TempDir,
    /// Evidence not yet stored, on the same file system so that storing it needs no copy.
    evidence: TempDir,
}

impl ShardWorkspace {
    /// Returns the folder for evidence that is not yet stored.
    pub(super) fn evidence(&self) -> &Path {
        self.evidence.path()
    }
}

/// Returns the message about an error for the job's owner. The log has the causes, which contain paths of this machine.
fn client_message(error: &SessionError) -> String {
    match error {
        SessionError::Internal(cause) if is_disk_full(&**cause) => {
            "this server has too little disk space for the files of the job".to_owned()
        }
        SessionError::Internal(_) => {
            "an internal error of this server; its log has the cause under the id of the job".to_owned()
        }
        shown => shown.to_string(),
    }
}

impl WorkerShared {
    /// Claims and runs a shard that the lane may run now, on the processor of `spare`. Returns true if there was one.
    pub(super) fn shard_next(&self, spare: &mut WarmLane, quiet: &mut Quiet) -> bool {
        let (records, now) = (&self.options.records, self.options.clock.now());
        let kind = if quiet.is_over(now) { ShardKind::Policy } else { ShardKind::Secret };
        match self.wait(records.claim_shard(&self.request(kind), now, LEASE)) {
            Ok(None) => false,
            Ok(Some(claim)) => {
                let _busy = Busy::lanes(1);
                self.process_shard(&claim, |workspace, cancel| self.run_shard(&claim, spare, workspace, cancel));
                quiet.after(&claim, self.options.clock.now());
                true
            }
            Err(error) => {
                error.log("could not claim shard");
                false
            }
        }
    }

    /// Works on a claimed shard as `run` does, in separate folders, and records the outcome.
    pub(super) fn process_shard(
        &self,
        claim: &Claim,
        run: impl FnOnce(&ShardWorkspace, &Cancel) -> Result<ShardEnd, SessionError>,
    ) {
        let fence = claim.fence;
        let _span = tracing::info_span!("shard", job.id = %fence.job_id, account = %claim.account).entered();
        tracing::info!(job.id = %fence.job_id, shard = fence.shard, attempt = fence.attempt, "shard claimed");
        let held = Held::Shard(fence);
        let cancel = self.claims.add(held);
        let workspace = self.create_workspace();
        // Without a folder to write to, storage is unavailable.
        let (workspace, ended) = match workspace {
            Ok(workspace) => {
                let ended = run(&workspace, &cancel).unwrap_or_else(ShardEnd::from);
                (Some(workspace), ended)
            }
            Err(error) => (None, ShardEnd::Outage(Box::new(error))),
        };
        let (workspace, ended) = match ended {
            ShardEnd::Outage(error) if is_disk_full(&*error) => {
                // Without the shard's own files, the disk shows whether it is full of others'.
                drop(workspace);
                (None, self.full_disk_end(error))
            }
            ended => (workspace, ended),
        };
        if let Err(error) = self.record_end(claim, ended) {
            // The lease expires, and the reconciler requeues the shard.
            error.log("could not record the end of the shard");
        }
        claim.episodes.iter().for_each(|episode| self.options.live.end(fence.job_id, *episode));
        self.claims.remove(&held);
        // The verdict has priority over removing the folders.
        self.conclude_next();
        drop(workspace);
    }

    /// Returns the end of a shard that found the disk full. If there is room without its files, it fills the disk by
    /// itself, and waiting would help nobody: that counts as a failure.
    fn full_disk_end(&self, error: Box<dyn Error + Send + Sync>) -> ShardEnd {
        let places = [self.options.engine.scratch_folder(), self.options.blobs.root()];
        let has_room =
            |place: &Path| rustix::fs::statvfs(place).is_ok_and(|fs| fs.f_bavail * fs.f_frsize >= ROOM_BYTES);
        match places.into_iter().all(has_room) {
            true => ShardEnd::Failed(SessionError::Internal(error)),
            false => ShardEnd::Outage(error),
        }
    }

    fn create_workspace(&self) -> io::Result<ShardWorkspace> {
        Ok(ShardWorkspace { work: self.options.engine.scratch("shard")?, evidence: self.options.blobs.incoming()? })
    }

    fn record_end(&self, claim: &Claim, ended: ShardEnd) -> Result<(), StoreError> {
        let (records, now, fence) = (&self.options.records, self.options.clock.now(), claim.fence);
        let work = Work::Shard { job_id: fence.job_id, shard: fence.shard };
        match ended {
            ShardEnd::Done => self.options.health.files_work(),
            // Has no effect on a shard that has been completed meanwhile.
            ShardEnd::HandBack => {
                self.wait(records.release_shard(fence))?;
            }
            ShardEnd::Scenario(message) => {
                let failure = JobFailure { blame: Blame::Scenario, message };
                self.wait(records.fail_job(fence.job_id, failure, now))?;
            }
            ShardEnd::Outage(error) => {
                let message = ErrorChain(&*error).to_string();
                let pause = OUTAGE_PAUSE.min(OUTAGE_STEP * i32::try_from(fence.attempt).unwrap_or(i32::MAX));
                let again = now.saturating_add(pause).unwrap_or(now);
                if !self.missing.has(claim.header.scenario_digest) {
                    self.options.health.files_failed(&message);
                }
                tracing::debug!(shard = fence.shard, message, %again, "shard postponed");
                self.wait(records.postpone_shard(fence, again, &message))?;
            }
            ShardEnd::Failed(error) => {
                let cause = ErrorChain(&error).to_string();
                tracing::error!(job.id = %fence.job_id, shard = fence.shard, cause, "shard failed");
                if self.wait(records.fail_shard(fence, &client_message(&error), now))? == ReturnOutcome::Requeued {
                    self.publish(vec![work]);
                }
            }
        }
        Ok(())
    }

    /// Runs a shard on one lane. Returns an error only if the preparations fail.
    pub(super) fn run_shard(
        &self,
        claim: &Claim,
        spare: &mut WarmLane,
        workspace: &ShardWorkspace,
        cancel: &Cancel,
    ) -> Result<ShardEnd, SessionError> {
        let job = self.job(claim, workspace)?;
        let recorder = ShardRecorder::new(self, claim, workspace.evidence());
        let mut episodes: VecDeque<u32> = claim.episodes.iter().copied().collect();
        let session = LaneSession::new(&*self.host, &job, spare.core(), cancel)?;
        let session = session.with(spare.take(&job.scenario)).with_earlier_notes(claim.notes.clone());
        let mut session = session.last_try(claim.failures >= MAX_RETRIES).stopping(self.stopping.clone());
        let outcome = session.run(|| episodes.pop_front(), &recorder);
        if outcome.is_ok() {
            spare.retire(session.into_lane());
            spare.expect(job.scenario);
        }
        Ok(recorder.ended(outcome))
    }

    /// Returns the files of the models that the job's policy declares.
    pub(super) fn models(&self, claim: &Claim) -> Result<Vec<ModelFile>, SessionError> {
        // A job keeps its models, so a missing one is this machine's fault, not the author's.
        let found = self.options.models.resolve(&claim.account, &claim.header.models);
        found.map_err(|error| SessionError::Outage(Box::new(error)))
    }

    fn home(&self, claim: &Claim) -> Result<PolicyHome, SessionError> {
        let home = self.options.engine.policy_home(&self.models(claim)?);
        home.map_err(|error| SessionError::Outage(Box::new(error)))
    }

    /// Returns the job for the lanes: with its scenario from the library, and its policy freshly unpacked or its
    /// server.
    pub(super) fn job(&self, claim: &Claim, workspace: &ShardWorkspace) -> Result<Job, SessionError> {
        let header = &claim.header;
        let scenario = self.options.engine.scenario(&header.scenario, header.scenario_digest);
        self.missing.note(header, scenario.as_ref().err());
        let scenario = scenario.map_err(|error| match error {
            // Missing files on this machine are not the author's fault.
            ScenarioGone::Missing(_) => SessionError::Outage(Box::new(error)),
            ScenarioGone::Changed(_) | ScenarioGone::Unfit { .. } => SessionError::Scenario(error.to_string()),
        })?;
        let policy = match &claim.policy_path {
            Some(archive) => {
                let unpacked = workspace.work.path().join(POLICY);
                let archive = self.wait(self.options.archives.open(archive)).map_err(SessionError::of)?;
                let taken = intake(archive.path(), &unpacked, &IntakeLimits::accepted());
                taken.map_err(SessionError::of)?;
                let (runtime, home) = (header.runtime.clone(), self.home(claim)?);
                PolicySource::Folder(PolicyFolder { path: unpacked, runtime, home })
            }
            None => self.server(header)?,
        };
        Ok(Job {
            scenario,
            policy,
            seeds: self.seeds(header)?,
            record: header.record,
            folder: Some(workspace.evidence().to_owned()),
            max_episode_bytes: episode_share(self.options.max_evidence_bytes, header.episodes_to_run()),
            max_observation_bytes: None,
        })
    }
}
