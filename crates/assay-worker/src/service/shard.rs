//! A shard: its episodes on one lane, each recorded as soon as it is complete.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use assay_model::{Blame, EpisodeResult, Plan};
use assay_policy::{IntakeLimits, intake};
use assay_store::{BlobError, Claim, Failure, Fence, Recorded, Returned, StoreError, Work};
use futures_util::future::try_join_all;

use super::claims::Held;
use super::spare::Spare;
use super::{LEASE, Shared};
use crate::session::{Session, SessionEvents, platform};
use crate::{Cancel, Job, PolicySource, SessionError, episode_share, evidence};

/// Times that a result is offered to records that fail.
const RECORD_TRIES: u32 = 5;
/// Pause before the second try; doubled each time.
const RECORD_PAUSE: Duration = Duration::from_millis(200);
/// Folder of a shard's evidence in its work folder.
const EVIDENCE: &str = "evidence";

/// How work on a shard ended.
enum Ended {
    /// Every episode is recorded.
    Done,
    /// The service is stopping, or the shard is no longer ours.
    HandBack,
    /// The scenario can't be run.
    Scenario(String),
    /// We failed.
    Platform(String),
}

struct Recorder<'a> {
    shared: &'a Shared,
    fence: Fence,
    plan: Plan,
    /// A certification has failed: the shard has no further episodes.
    ended: Cancel,
    /// Where the lanes' evidence lies until it is kept.
    folder: PathBuf,
    /// Evidence could not be kept.
    full: Cancel,
}

impl SessionEvents for Recorder<'_> {
    fn progress(&self, episode: u32, step: u32, of: u32) {
        tracing::trace!(job.id = %self.fence.job_id, episode, step, of, "progress");
    }

    fn wanted(&self, _episode: u32) -> bool {
        !self.ended.is_cancelled()
    }

    fn finished(&self, result: EpisodeResult) -> Result<(), String> {
        let episode = result.episode;
        if self.ended.is_cancelled() {
            return Ok(());
        }
        if self.plan.ends_with(&result) {
            self.ended.cancel();
        }
        if let Err(error) = self.keep(&result) {
            self.full.cancel();
            return Err(format!("the evidence of episode {episode} could not be kept: {}", platform(&error)));
        }
        match self.record(&result) {
            Ok(Recorded::New { left_in_job: 0, .. }) => {
                self.shared.publish(vec![Work::Conclusion { job_id: self.fence.job_id }]);
                Ok(())
            }
            Ok(Recorded::New { .. } | Recorded::Duplicate) => {
                // The last episode's copy goes with the shard's folder.
                evidence::forget(&self.folder, episode).map_err(|e| e.to_string())
            }
            Ok(Recorded::Fenced) => Err(format!("episode {episode} is somebody else's now")),
            Err(error) => Err(format!("episode {episode} could not be recorded: {error}")),
        }
    }
}

impl Recorder<'_> {
    /// Puts an episode's evidence where it stays, before the result speaks of it.
    fn keep(&self, result: &EpisodeResult) -> Result<(), BlobError> {
        let shared = self.shared;
        let (blobs, job) = (&shared.options.blobs, self.fence.job_id);
        // All at once: each waits for the disk.
        let files = result.evidence.iter().map(|file| (file, self.folder.join(&file.name)));
        let kept = files.map(|(file, path)| async move { blobs.put(job, &file.sha256, &path).await });
        shared.wait(try_join_all(kept))?;
        Ok(())
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
                self.shard(&claim, spare);
                true
            }
            Err(error) => {
                tracing::error!(%error, "shards could not be claimed");
                false
            }
        }
    }

    fn shard(&self, claim: &Claim, spare: &mut Spare) {
        let fence = claim.fence;
        tracing::info!(job.id = %fence.job_id, shard = fence.shard, attempt = fence.attempt, "claimed");
        let held = Held::Shard(fence);
        let cancel = self.claims.add(held);
        let work = self.options.engine.scratch("shard");
        let outcome =
            work.as_ref().map_err(|e| platform(e)).and_then(|work| self.run(claim, spare, &cancel, work.path()));
        let ended = match outcome {
            Ok(()) if self.stopping.is_cancelled() => Ended::HandBack,
            Ok(()) => Ended::Done,
            Err(SessionError::Cancelled | SessionError::Rejected(_)) => Ended::HandBack,
            Err(SessionError::Scenario(message)) => Ended::Scenario(message),
            Err(SessionError::Platform(message)) => Ended::Platform(message),
        };
        if let Err(error) = self.settle(claim, ended) {
            // The lease runs out, and the reconciler sees to it.
            tracing::error!(job.id = %fence.job_id, %error, "a shard could not be given back");
        }
        if claim.header.plan.target.is_some() {
            let header = &claim.header;
            let recorded = self.wait(self.options.records.episodes(header.job_id, 0, header.plan.episodes));
            self.forget_dropped(header, &recorded.unwrap_or_default());
        }
        self.claims.remove(&held);
        // Somebody waits for the verdict; tidying up can wait.
        self.conclude_next();
        drop(work);
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

    fn run(&self, claim: &Claim, spare: &mut Spare, cancel: &Cancel, work: &Path) -> Result<(), SessionError> {
        let job = self.job(claim, work)?;
        let plan = claim.header.plan;
        let folder = work.join(EVIDENCE);
        let recorder =
            Recorder { shared: self, fence: claim.fence, plan, ended: Cancel::new(), folder, full: Cancel::new() };
        let mut episodes: VecDeque<u32> = claim.episodes.iter().copied().collect();
        let session = Session::new(&self.options.engine, &job, spare.core(), cancel)?;
        let session = session.with(spare.take(&job.scenario)).stopping(self.stopping.clone());
        session.run(|| episodes.pop_front(), &recorder).map_err(|error| match error {
            // Our failure, and not to be tried again for ever.
            SessionError::Rejected(message) if recorder.full.is_cancelled() => SessionError::Platform(message),
            other => other,
        })?;
        spare.expect(job.scenario);
        Ok(())
    }

    /// The job as lanes see it: its scenario from the library, its policy unpacked anew.
    fn job(&self, claim: &Claim, work: &Path) -> Result<Job, SessionError> {
        let header = &claim.header;
        let scenario = self.options.engine.library().get(&header.scenario);
        let scenario = scenario.map_err(|e| SessionError::Scenario(e.to_string()))?.clone();
        if scenario.digest != header.scenario_digest {
            let message = format!("{} was changed after the job was accepted", header.scenario);
            return Err(SessionError::Scenario(message));
        }
        let archive = claim.policy_path.as_ref().ok_or_else(|| SessionError::Platform("no policy".to_owned()))?;
        let unpacked = work.join("policy");
        intake(&self.options.data.join(archive), &unpacked, &IntakeLimits::default()).map_err(|e| platform(&e))?;
        Ok(Job {
            scenario: Arc::new(scenario),
            policy: PolicySource::Folder(unpacked),
            seed: header.seed,
            record: header.record,
            folder: Some(work.join(EVIDENCE)),
            max_episode_bytes: episode_share(self.options.max_job_bytes, header.plan.episodes),
        })
    }
}
