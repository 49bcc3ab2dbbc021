//! A shard: its episodes on one lane.

use std::collections::VecDeque;
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use assay_model::{AssignedPolicy, Assignment, ErrorChain, ShardReturn};
use assay_policy::{IntakeLimits, intake};
use assay_store::{MAX_RETRIES, PolicyServerAccess, ShardKind, is_disk_full};
use tempfile::TempDir;

use super::busy::Busy;
use super::claims::Held;
use super::dispatch::DispatchError;
use super::quiet::Quiet;
use super::renderers::IdleLane;
use super::runner::ShardRunner;
use super::shard_end::ShardEnd;
use super::shard_recorder::ShardRecorder;
use super::warm_lane::WarmLane;
use crate::episode::lane_session::LaneSession;
use crate::{Cancel, Job, PolicyFolder, PolicySource, SessionError};

/// Maximum pause before a shard is retried after an outage of storage, in seconds; the pause grows with the number of
/// claims.
const OUTAGE_PAUSE_S: u32 = 30;
/// Free space on a disk that is not full: a job that finds none anyway uses more than this by itself.
const ROOM_BYTES: u64 = 256 << 20;
/// Folder of an unpacked policy in a shard's work folder.
const POLICY: &str = "policy";

/// Temporary folders of the work on a shard, removed when it ends.
pub(crate) struct ShardWorkspace {
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

impl ShardRunner {
    /// Claims and runs a shard that the lane may run now, on the processor of `spare`; then calls `after`. Returns true
    /// if there was one. [`Dispatch::claim`](super::dispatch::Dispatch::claim) explains `wait`.
    pub(crate) fn shard_next(
        &self,
        spare: &mut WarmLane,
        (quiet, over): (&mut Quiet, bool),
        (wait, idle): (Duration, Option<IdleLane<'_>>),
        after: &dyn Fn(),
    ) -> bool {
        let kind = if over { ShardKind::Policy } else { ShardKind::Secret };
        let claimed = self.dispatch.claim(kind, &[], wait);
        // From here on the lane has work.
        drop(idle);
        match claimed {
            Ok(None) => false,
            Ok(Some(shard)) => {
                let _busy = Busy::lanes(1);
                let run = |workspace: &_, cancel: &_| self.run_shard(&shard, spare, workspace, cancel);
                self.process(&shard, run, after);
                quiet.after(&shard, self.clock.now());
                true
            }
            Err(error) => {
                error.log("could not claim shard");
                false
            }
        }
    }

    /// Works on a claimed shard as `run` does, in separate folders, and records the outcome. Calls `after` before it
    /// removes the folders.
    pub(crate) fn process(
        &self,
        shard: &Assignment,
        run: impl FnOnce(&ShardWorkspace, &Cancel) -> Result<ShardEnd, SessionError>,
        after: &dyn Fn(),
    ) {
        let fence = shard.fence;
        let _span = tracing::info_span!("shard", job.id = %fence.job_id, account = %shard.account).entered();
        tracing::info!(job.id = %fence.job_id, shard = fence.shard, attempt = fence.attempt, "shard claimed");
        let held = Held::Shard(fence);
        let cancel = self.claims.add(held);
        // Without a folder to write to, storage is unavailable.
        let (workspace, ended) = match self.create_workspace() {
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
        if let Err(error) = self.record_end(shard, ended) {
            // The lease expires, and the reconciler requeues the shard.
            error.log("could not record the end of the shard");
        }
        shard.indices().for_each(|episode| self.dispatch.ended(fence.job_id, episode));
        self.claims.remove(&held);
        self.dispatch.released(fence);
        // The verdict has priority over removing the folders.
        after();
        drop(workspace);
    }

    /// Returns the end of a shard that found the disk full. If there is room without its files, it fills the disk by
    /// itself, and waiting would not help: that counts as a failure.
    fn full_disk_end(&self, error: Box<dyn Error + Send + Sync>) -> ShardEnd {
        let places = [self.engine.scratch_folder(), self.dispatch.storage_root()];
        let has_room =
            |place: &Path| rustix::fs::statvfs(place).is_ok_and(|fs| fs.f_bavail * fs.f_frsize >= ROOM_BYTES);
        match places.into_iter().all(has_room) {
            true => ShardEnd::Failed(SessionError::Internal(error)),
            false => ShardEnd::Outage(error),
        }
    }

    fn create_workspace(&self) -> std::io::Result<ShardWorkspace> {
        Ok(ShardWorkspace { work: self.engine.scratch("shard")?, evidence: self.dispatch.evidence_folder()? })
    }

    fn record_end(&self, shard: &Assignment, ended: ShardEnd) -> Result<(), DispatchError> {
        let fence = shard.fence;
        match ended {
            ShardEnd::Done => {
                self.dispatch.storage_health(shard, None);
                Ok(())
            }
            ShardEnd::HandBack => self.dispatch.give_back(fence, ShardReturn::Release),
            ShardEnd::Scenario(message) => self.dispatch.give_back(fence, ShardReturn::Scenario { message }),
            ShardEnd::Outage(error) => {
                let reason = ErrorChain(&*error).to_string();
                self.dispatch.storage_health(shard, Some(&reason));
                self.dispatch
                    .give_back(fence, ShardReturn::Postpone { pause_s: fence.attempt.min(OUTAGE_PAUSE_S), reason })
            }
            ShardEnd::Failed(error) => {
                let cause = ErrorChain(&error).to_string();
                tracing::error!(job.id = %fence.job_id, shard = fence.shard, cause, "shard failed");
                self.dispatch.give_back(fence, ShardReturn::Fail { reason: client_message(&error) })
            }
        }
    }

    /// Runs a shard on one lane. Returns an error only if the preparations fail.
    pub(super) fn run_shard(
        &self,
        shard: &Assignment,
        spare: &mut WarmLane,
        workspace: &ShardWorkspace,
        cancel: &Cancel,
    ) -> Result<ShardEnd, SessionError> {
        let mut job = self.job(shard, workspace)?;
        spare.share_home(shard.fence.job_id, &mut job.policy);
        let recorder = ShardRecorder::new(self, shard, workspace.evidence(), cancel);
        let mut episodes: VecDeque<u32> = shard.indices().collect();
        let session = LaneSession::new(&*self.host, &job, spare.core(), cancel)?;
        let session =
            session.with(spare.take(shard.fence.job_id, &job.scenario)).with_earlier_notes(shard.notes.clone());
        let mut session = session.last_try(shard.failures >= MAX_RETRIES).stopping(self.stopping.clone());
        let outcome = session.run(|| episodes.pop_front(), &recorder);
        if outcome.is_ok() {
            spare.retire(shard.fence.job_id, session.into_lane());
            spare.expect(job.scenario);
        }
        Ok(recorder.ended(outcome))
    }

    /// Returns the job for the lanes: with its scenario, and its policy freshly unpacked or its server.
    pub(super) fn job(&self, shard: &Assignment, workspace: &ShardWorkspace) -> Result<Job, SessionError> {
        let policy = match &shard.policy {
            AssignedPolicy::Archive { runtime, .. } => {
                let unpacked = workspace.work.path().join(POLICY);
                let archive = self.dispatch.archive(shard)?;
                let taken = intake(archive.path(), &unpacked, &IntakeLimits::accepted());
                taken.map_err(SessionError::of)?;
                let home = self.engine.policy_home(&self.dispatch.models(shard)?);
                let home = home.map_err(|error| SessionError::Outage(Box::new(error)))?;
                PolicySource::Folder(PolicyFolder { path: unpacked, runtime: runtime.clone(), home })
            }
            AssignedPolicy::Server { replan_steps } => match self.dispatch.server(shard)? {
                PolicyServerAccess::Call(call) => Self::server(call, *replan_steps)?,
                PolicyServerAccess::Connects => {
                    PolicySource::Connected { job: shard.fence.job_id, replan_steps: *replan_steps }
                }
            },
        };
        Ok(Job {
            scenario: self.dispatch.scenario(shard)?,
            policy,
            seeds: shard.seeds(),
            record: shard.record,
            folder: Some(workspace.evidence().to_owned()),
            max_episode_bytes: shard.max_episode_bytes,
            max_observation_bytes: None,
        })
    }
}
