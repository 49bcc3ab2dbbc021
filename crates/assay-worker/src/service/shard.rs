//! A shard: its episodes on one lane, each recorded as soon as it is complete.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use assay_model::{Artifact, Blame, EpisodeResult, Plan};
use assay_policy::{IntakeLimits, intake};
use assay_store::{BlobError, Claim, Failure, Fence, LaneStep, Recorded, Returned, StoreError, Work};
use tempfile::TempDir;

use super::busy::Busy;
use super::claims::Held;
use super::spare::Spare;
use super::{LEASE, Shared};
use crate::session::{Session, SessionEvents, platform};
use crate::{Cancel, Job, PolicySource, SessionError, episode_share, evidence};

/// Times that a result is offered to records that fail.
const RECORD_TRIES: u32 = 5;
/// How long episodes take.
const EPISODE_SECONDS: &str = "assay_episode_duration_seconds";
/// Pause before the second try; doubled each time.
const RECORD_PAUSE: Duration = Duration::from_millis(200);
/// Folder of an unpacked policy in a shard's work folder.
const POLICY: &str = "policy";

/// How work on a shard ended.
pub(super) enum Ended {
    /// Every episode is recorded.
    Done,
    /// The service is stopping, the shard is no longer ours, or it is others' turn.
    HandBack,
    /// The scenario can't be run.
    Scenario(String),
    /// We failed.
    Platform(String),
}

/// Folders of the work on a shard, gone when it ends.
pub(super) struct Desk {
    /// What jails read.
    work: TempDir,
    /// Evidence that is not kept yet, from where keeping takes no copy.
    evidence: TempDir,
}

/// Records what the lanes of one shard find.
pub(super) struct Recorder<'a> {
    shared: &'a Shared,
    fence: Fence,
    plan: Plan,
    /// Episodes from here on are not wanted: a certification failed before them.
    end: AtomicU32,
    /// Where the lanes' evidence lies until it is kept.
    folder: PathBuf,
    /// Evidence could not be kept.
    full: Cancel,
}

impl SessionEvents for Recorder<'_> {
    fn progress(&self, episode: u32, step: u32, of: u32) {
        self.shared.options.live.step(self.fence.job_id, LaneStep { episode, step, of });
    }

    fn wanted(&self, episode: u32) -> bool {
        episode < self.end.load(Ordering::SeqCst)
    }

    /// Puts a file where it stays, before the result speaks of it.
    fn keep(&self, episode: u32, file: &Artifact) -> Result<(), String> {
        if !self.wanted(episode) {
            return Ok(());
        }
        let path = self.folder.join(evidence::folder_of(episode)).join(&file.name);
        self.kept(episode, self.shared.options.blobs.put(self.fence.job_id, &file.sha256, &path))
    }

    fn finished(&self, result: EpisodeResult) -> Result<(), String> {
        let (episode, seconds) = (result.episode, result.wall_time_s);
        self.shared.options.live.ended(self.fence.job_id, episode);
        if !self.wanted(episode) {
            return Ok(());
        }
        if self.plan.ends_with(&result) {
            self.end.fetch_min(episode + 1, Ordering::SeqCst);
        }
        if !result.evidence.is_empty() {
            self.kept(episode, self.shared.options.blobs.settle(self.fence.job_id))?;
        }
        match self.record(&result) {
            Ok(Recorded::New { left_in_job: 0, .. }) => {
                metrics::histogram!(EPISODE_SECONDS).record(seconds);
                self.shared.publish(vec![Work::Conclusion { job_id: self.fence.job_id }]);
                Ok(())
            }
            Ok(recorded @ (Recorded::New { .. } | Recorded::Duplicate)) => {
                if recorded != Recorded::Duplicate {
                    metrics::histogram!(EPISODE_SECONDS).record(seconds);
                }
                // The last episode's goes with the shard's folder.
                evidence::forget(&self.folder, episode).map_err(|e| e.to_string())
            }
            Ok(Recorded::Fenced) => Err(format!("episode {episode} is somebody else's now")),
            Err(error) => Err(format!("episode {episode} could not be recorded: {error}")),
        }
    }
}

impl<'a> Recorder<'a> {
    /// Evidence lies on `desk` until it is kept.
    pub(super) fn new(shared: &'a Shared, claim: &Claim, desk: &Desk) -> Self {
        let plan = claim.header.plan;
        Self {
            shared,
            fence: claim.fence,
            plan,
            end: AtomicU32::new(claim.header.episodes_to_run()),
            folder: desk.evidence.path().to_owned(),
            full: Cancel::new(),
        }
    }

    /// How the work on the shard ended.
    pub(super) fn ended(&self, outcome: Result<(), SessionError>) -> Ended {
        match outcome {
            Ok(()) if self.shared.stopping.is_cancelled() => Ended::HandBack,
            Ok(()) => Ended::Done,
            // Our failure, and not to be tried again for ever.
            Err(SessionError::Rejected(message)) if self.full.is_cancelled() => Ended::Platform(message),
            Err(SessionError::Cancelled | SessionError::Rejected(_)) => Ended::HandBack,
            Err(SessionError::Scenario(message)) => Ended::Scenario(message),
            Err(SessionError::Platform(message)) => Ended::Platform(message),
        }
    }

    /// Waits until evidence is kept.
    fn kept(&self, episode: u32, keeping: impl Future<Output = Result<(), BlobError>>) -> Result<(), String> {
        self.shared.wait(keeping).map_err(|error| {
            self.full.cancel();
            format!("the evidence of episode {episode} could not be kept: {}", platform(&error))
        })
    }

    fn record(&self, result: &EpisodeResult) -> Result<Recorded, StoreError> {
        let options = &self.shared.options;
        let mut pause = RECORD_PAUSE;
        let mut tries = 1;
        loop {
            let write = options.records.record_episode(self.fence, result.clone(), options.clock.now());
            match self.shared.wait(write) {
                Err(error) if tries < RECORD_TRIES => {
                    tracing::warn!(job.id = %self.fence.job_id, %error, "a result is offered to the records again");
                    thread::sleep(pause);
                    (tries, pause) = (tries + 1, pause * 2);
                }
                answer => return answer,
            }
        }
    }
}

impl Shared {
    /// Claims and runs a shard on the processor of `spare`; whether there was one.
    pub(super) fn shard_next(&self, spare: &mut Spare) -> bool {
        let claim = self.options.records.claim_shard(&self.name, self.options.clock.now(), LEASE);
        match self.wait(claim) {
            Ok(None) => false,
            Ok(Some(claim)) => {
                let _busy = Busy::lanes(1);
                self.shard(&claim, |desk, cancel| self.run(&claim, spare, desk, cancel));
                true
            }
            Err(error) => {
                tracing::error!(%error, "shards could not be claimed");
                false
            }
        }
    }

    /// Works on a claimed shard as `run` does, in folders of its own, and settles what became of it.
    pub(super) fn shard(&self, claim: &Claim, run: impl FnOnce(&Desk, &Cancel) -> Result<Ended, SessionError>) {
        let fence = claim.fence;
        tracing::info!(job.id = %fence.job_id, shard = fence.shard, attempt = fence.attempt, "claimed");
        let held = Held::Shard(fence);
        let cancel = self.claims.add(held);
        let desk = self.desk();
        let outcome = desk.as_ref().map_err(|e| platform(e)).and_then(|desk| run(desk, &cancel));
        let ended = outcome.unwrap_or_else(|error| match error {
            SessionError::Scenario(message) => Ended::Scenario(message),
            other => Ended::Platform(other.to_string()),
        });
        if let Err(error) = self.settle(claim, ended) {
            // The lease runs out, and the reconciler sees to it.
            tracing::error!(job.id = %fence.job_id, %error, "a shard could not be given back");
        }
        if claim.header.plan.target.is_some() {
            let header = &claim.header;
            let recorded = self.wait(self.options.records.episodes(header.job_id, 0, header.plan.episodes));
            self.forget_dropped(header, &recorded.unwrap_or_default());
        }
        claim.episodes.iter().for_each(|episode| self.options.live.ended(fence.job_id, *episode));
        self.claims.remove(&held);
        // Somebody waits for the verdict; tidying up can wait.
        self.conclude_next();
        drop(desk);
    }

    fn desk(&self) -> io::Result<Desk> {
        Ok(Desk { work: self.options.engine.scratch("shard")?, evidence: self.options.blobs.incoming()? })
    }

    fn settle(&self, claim: &Claim, ended: Ended) -> Result<(), StoreError> {
        let (records, now, fence) = (&self.options.records, self.options.clock.now(), claim.fence);
        let work = Work::Shard { job_id: fence.job_id, shard: fence.shard };
        match ended {
            Ended::Done => {}
            // A shard that is done by now is fenced, which is as good.
            Ended::HandBack => {
                self.wait(records.release_shard(fence))?;
            }
            Ended::Scenario(message) => {
                let failure = Failure { blame: Blame::Scenario, message };
                self.wait(records.fail_job(fence.job_id, failure, now))?;
            }
            Ended::Platform(message) => {
                tracing::error!(job.id = %fence.job_id, shard = fence.shard, message, "a shard failed");
                if self.wait(records.fail_shard(fence, &message, now))? == Returned::Requeued {
                    self.publish(vec![work]);
                }
            }
        }
        Ok(())
    }

    /// Runs a shard on one lane. An error is one of the preparations.
    fn run(&self, claim: &Claim, spare: &mut Spare, desk: &Desk, cancel: &Cancel) -> Result<Ended, SessionError> {
        let job = self.job(claim, desk)?;
        let recorder = Recorder::new(self, claim, desk);
        let mut episodes: VecDeque<u32> = claim.episodes.iter().copied().collect();
        let session = Session::new(&self.options.engine, &job, spare.core(), cancel)?;
        let mut session = session.with(spare.take(&job.scenario)).stopping(self.stopping.clone());
        let outcome = session.run(|| episodes.pop_front(), &recorder);
        if outcome.is_ok() {
            spare.retire(session.into_lane());
            spare.expect(job.scenario);
        }
        Ok(recorder.ended(outcome))
    }

    /// The job as lanes see it: its scenario from the library; its policy unpacked anew, or where it is served.
    pub(super) fn job(&self, claim: &Claim, desk: &Desk) -> Result<Job, SessionError> {
        let header = &claim.header;
        let scenario = self.options.engine.scenario(&header.scenario, &header.scenario_digest);
        let scenario = scenario.map_err(|e| SessionError::Scenario(e.to_string()))?;
        let policy = match &claim.policy_path {
            Some(archive) => {
                let unpacked = desk.work.path().join(POLICY);
                let archive = self.options.data.join(archive);
                intake(&archive, &unpacked, &IntakeLimits::default()).map_err(|e| platform(&e))?;
                PolicySource::Folder(unpacked)
            }
            None => self.server(header)?,
        };
        Ok(Job {
            scenario,
            policy,
            seeds: self.seeds(header)?,
            record: header.record,
            folder: Some(desk.evidence.path().to_owned()),
            max_episode_bytes: episode_share(self.options.max_job_bytes, header.episodes_to_run()),
        })
    }
}
