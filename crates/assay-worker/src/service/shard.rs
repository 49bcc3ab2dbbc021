//! A shard: its episodes on one lane, each recorded as soon as it is complete.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use assay_model::{AccountId, Artifact, AttemptNote, Blame, EpisodeResult, Plan, ReplacedAttempt, ReplacementReason};
use assay_policy::{IntakeLimits, intake};
use assay_store::{
    BlobError, Claim, EpisodeProgress, Fence, JobFailure, Lease, MAX_RETRIES, RecordOutcome, ReturnOutcome, StoreError,
    Work,
};
use jiff::SignedDuration;
use tempfile::TempDir;

use super::busy::Busy;
use super::claims::Held;
use super::intervals::LEASE;
use super::quiet::Quiet;
use super::shared::WorkerShared;
use super::warm_lane::WarmLane;
use crate::episode::evidence;
use crate::episode::lane_session::LaneSession;
use crate::episode::session_error::{is_storage, outage, platform};
use crate::episode::session_events::SessionEvents;
use crate::{Cancel, Job, PolicySource, ScenarioGone, SessionError, episode_share};

/// Number of tries to record a result.
const RECORD_TRIES: u32 = 5;
/// Pause per claim before a shard that met an outage of storage is tried again,
const OUTAGE_STEP: SignedDuration = SignedDuration::from_secs(1);
/// and the maximum of that pause.
const OUTAGE_PAUSE: SignedDuration = SignedDuration::from_secs(30);
/// Name of the metric for the duration of episodes.
const EPISODE_SECONDS: &str = "assay_episode_duration_seconds";
/// Pause before the second try; doubled each time.
const RECORD_PAUSE: Duration = Duration::from_millis(200);
/// Folder of an unpacked policy in a shard's work folder.
const POLICY: &str = "policy";

/// The outcome of the work on a shard.
pub(super) enum ShardEnd {
    /// Every episode is recorded.
    Done,
    /// The service is stopping, the lease is lost, or it is another job's turn.
    HandBack,
    /// The scenario cannot be run.
    Scenario(String),
    /// Storage was unavailable or full; this does not count as a failure.
    Outage(String),
    /// An internal error.
    Platform(String),
}

/// Temporary folders of the work on a shard, removed when it ends.
pub(super) struct ShardWorkspace {
    /// Files that jails read.
    work: TempDir,
    /// Evidence not yet stored, on the same file system so that storing it needs no copy.
    evidence: TempDir,
}

/// Records the results of the lanes of one shard.
pub(super) struct ShardRecorder<'a> {
    shared: &'a WorkerShared,
    fence: Fence,
    account: AccountId,
    /// True if it runs in the secret worlds of a season.
    is_secret: bool,
    plan: Plan,
    /// Episodes from this index on are not wanted: a certification failed before them.
    end: AtomicU32,
    /// The folder of the lanes' evidence until it is stored.
    folder: PathBuf,
    /// Set when evidence or results could not be stored.
    outage: Cancel,
}

impl SessionEvents for ShardRecorder<'_> {
    fn progress(&self, episode: u32, step: u32, of: u32) {
        self.shared.options.live.report(self.fence.job_id, EpisodeProgress { episode, step, max_steps: of });
    }

    fn wanted(&self, episode: u32) -> bool {
        episode < self.end.load(Ordering::SeqCst)
    }

    fn packs(&self) -> bool {
        true
    }

    /// Stores a file before the result refers to it.
    fn keep(&self, episode: u32, file: &Artifact) -> Result<(), String> {
        if !self.wanted(episode) {
            return Ok(());
        }
        let path = self.folder.join(evidence::folder_of(episode)).join(&file.name);
        self.kept(episode, self.shared.options.blobs.put(self.fence.job_id, file.sha256, &path))
    }

    fn finished(&self, result: EpisodeResult) -> Result<(), String> {
        let (episode, seconds) = (result.episode, result.wall_time_s);
        self.shared.options.live.end(self.fence.job_id, episode);
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
            // Its evidence is packed after the conclusion, which has priority.
            Ok(RecordOutcome::New { left_in_job: 0, .. }) => {
                metrics::histogram!(EPISODE_SECONDS).record(seconds);
                self.shared.publish(vec![Work::Conclusion { job_id: self.fence.job_id }]);
                Ok(())
            }
            Ok(recorded @ (RecordOutcome::New { .. } | RecordOutcome::Duplicate)) => {
                if recorded != RecordOutcome::Duplicate {
                    metrics::histogram!(EPISODE_SECONDS).record(seconds);
                }
                self.shared.pack(self.fence.job_id, [&result]);
                // The last episode's evidence is removed with the shard's folder.
                evidence::forget(&self.folder, episode).map_err(|e| e.to_string())
            }
            Ok(RecordOutcome::Fenced) => Err(format!("episode {episode} is somebody else's now")),
            Err(error) => {
                self.outage.cancel();
                Err(format!("episode {episode} could not be recorded: {}", platform(&error)))
            }
        }
    }

    fn note(&self, note: &AttemptNote) -> Result<(), String> {
        let records = &self.shared.options.records;
        match self.offered(|| records.note_attempt(self.fence, note.clone())) {
            Ok(Lease::Held) => Ok(()),
            Ok(Lease::Lost) => Err(format!("episode {} is another worker's now", note.episode())),
            Err(error) => {
                self.outage.cancel();
                Err(format!("a note on episode {} could not be recorded: {}", note.episode(), platform(&error)))
            }
        }
    }

    fn sleeping(&self, episode: u32, asleep: bool) {
        // The start of a further lane would reveal to other accounts how a policy behaves in a season's secret worlds.
        if !self.is_secret {
            self.shared.sleepers.set((self.fence.job_id, episode), &self.account, asleep);
        }
    }
}

impl<'a> ShardRecorder<'a> {
    /// Creates a recorder whose evidence is on `desk` until it is stored.
    pub(super) fn new(shared: &'a WorkerShared, claim: &Claim, desk: &ShardWorkspace) -> Self {
        let plan = claim.header.plan;
        Self {
            shared,
            fence: claim.fence,
            account: claim.account.clone(),
            is_secret: claim.is_secret(),
            plan,
            end: AtomicU32::new(claim.header.episodes_to_run()),
            folder: desk.evidence.path().to_owned(),
            outage: Cancel::new(),
        }
    }

    /// Returns how the work on the shard ended.
    pub(super) fn ended(&self, outcome: Result<(), SessionError>) -> ShardEnd {
        match outcome {
            Ok(()) if self.shared.stopping.is_cancelled() => ShardEnd::HandBack,
            Ok(()) => ShardEnd::Done,
            Err(SessionError::Rejected(message)) if self.outage.is_cancelled() => ShardEnd::Outage(message),
            Err(SessionError::Outage(message)) => ShardEnd::Outage(message),
            Err(SessionError::Cancelled | SessionError::Rejected(_)) => ShardEnd::HandBack,
            Err(SessionError::Scenario(message)) => ShardEnd::Scenario(message),
            Err(SessionError::Platform(message)) => ShardEnd::Platform(message),
        }
    }

    /// Waits until evidence is stored.
    fn kept(&self, episode: u32, keeping: impl Future<Output = Result<(), BlobError>>) -> Result<(), String> {
        self.shared.wait(keeping).map_err(|error| {
            self.outage.cancel();
            // Best effort: the records may be unavailable as well.
            let evidence = "the episode's evidence could not be stored";
            let replaced = ReplacedAttempt::new(episode, ReplacementReason::Outage, evidence);
            drop(
                self.shared.wait(self.shared.options.records.note_attempt(self.fence, AttemptNote::Replaced(replaced))),
            );
            format!("the evidence of episode {episode} could not be kept: {}", platform(&error))
        })
    }

    fn record(&self, result: &EpisodeResult) -> Result<RecordOutcome, StoreError> {
        let options = &self.shared.options;
        self.offered(|| options.records.record_episode(self.fence, result.clone(), options.clock.now()))
    }

    /// Writes to the records, with retries after a pause when that fails.
    fn offered<T, F>(&self, mut write: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let (mut pause, mut tries) = (RECORD_PAUSE, 1);
        loop {
            match self.shared.wait(write()) {
                Err(error) if tries < RECORD_TRIES => {
                    error.log("the records failed and are asked again");
                    thread::sleep(pause);
                    (tries, pause) = (tries + 1, pause * 2);
                }
                answer => return answer,
            }
        }
    }
}

impl WorkerShared {
    /// Claims and runs a shard that the lane may run now, on the processor of `spare`. Returns true if there was one.
    pub(super) fn shard_next(&self, spare: &mut WarmLane, quiet: &mut Quiet) -> bool {
        let (records, now) = (&self.options.records, self.options.clock.now());
        let claim = match quiet.is_over(now) {
            true => records.claim_shard(&self.name, now, LEASE),
            false => records.claim_secret_shard(&self.name, now, LEASE),
        };
        match self.wait(claim) {
            Ok(None) => false,
            Ok(Some(claim)) => {
                let _busy = Busy::lanes(1);
                self.shard(&claim, |desk, cancel| self.run(&claim, spare, desk, cancel));
                quiet.after(&claim, self.options.clock.now());
                true
            }
            Err(error) => {
                error.log("shards could not be claimed");
                false
            }
        }
    }

    /// Works on a claimed shard as `run` does, in separate folders, and records the outcome.
    pub(super) fn shard(
        &self,
        claim: &Claim,
        run: impl FnOnce(&ShardWorkspace, &Cancel) -> Result<ShardEnd, SessionError>,
    ) {
        let fence = claim.fence;
        let _span = tracing::info_span!("shard", job.id = %fence.job_id, account = %claim.account).entered();
        tracing::info!(job.id = %fence.job_id, shard = fence.shard, attempt = fence.attempt, "claimed");
        let held = Held::Shard(fence);
        let cancel = self.claims.add(held);
        let desk = self.desk();
        let outcome = desk.as_ref().map_err(|e| outage(e)).and_then(|desk| run(desk, &cancel));
        let ended = outcome.unwrap_or_else(|error| match error {
            SessionError::Scenario(message) => ShardEnd::Scenario(message),
            SessionError::Outage(message) => ShardEnd::Outage(message),
            other => ShardEnd::Platform(other.to_string()),
        });
        if let Err(error) = self.settle(claim, ended) {
            // The lease expires, and the reconciler requeues the shard.
            error.log("could not requeue a shard");
        }
        if claim.header.plan.target.is_some() {
            let header = &claim.header;
            let recorded = self.wait(self.options.records.episodes(header.job_id, 0, header.plan.episodes));
            self.forget_dropped(header, &recorded.unwrap_or_default());
        }
        claim.episodes.iter().for_each(|episode| self.options.live.end(fence.job_id, *episode));
        self.claims.remove(&held);
        // The verdict has priority over cleaning up.
        self.conclude_next();
        drop(desk);
    }

    fn desk(&self) -> io::Result<ShardWorkspace> {
        Ok(ShardWorkspace { work: self.options.engine.scratch("shard")?, evidence: self.options.blobs.incoming()? })
    }

    fn settle(&self, claim: &Claim, ended: ShardEnd) -> Result<(), StoreError> {
        let (records, now, fence) = (&self.options.records, self.options.clock.now(), claim.fence);
        let work = Work::Shard { job_id: fence.job_id, shard: fence.shard };
        match ended {
            ShardEnd::Done => self.options.health.files_work(),
            // A shard that is done by now is fenced, which is no problem.
            ShardEnd::HandBack => {
                self.wait(records.release_shard(fence))?;
            }
            ShardEnd::Scenario(message) => {
                let failure = JobFailure { blame: Blame::Scenario, message };
                self.wait(records.fail_job(fence.job_id, failure, now))?;
            }
            ShardEnd::Outage(message) => {
                let pause = OUTAGE_PAUSE.min(OUTAGE_STEP * i32::try_from(fence.attempt).unwrap_or(i32::MAX));
                let again = now.saturating_add(pause).unwrap_or(now);
                if !self.missing.has(claim.header.scenario_digest) {
                    self.options.health.files_failed(&message);
                }
                tracing::debug!(shard = fence.shard, message, %again, "the shard waits, and nothing is counted against it");
                self.wait(records.postpone_shard(fence, again, &message))?;
            }
            ShardEnd::Platform(message) => {
                tracing::error!(job.id = %fence.job_id, shard = fence.shard, message, "a shard failed");
                if self.wait(records.fail_shard(fence, &message, now))? == ReturnOutcome::Requeued {
                    self.publish(vec![work]);
                }
            }
        }
        Ok(())
    }

    /// Runs a shard on one lane. Returns an error only if the preparations fail.
    pub(super) fn run(
        &self,
        claim: &Claim,
        spare: &mut WarmLane,
        desk: &ShardWorkspace,
        cancel: &Cancel,
    ) -> Result<ShardEnd, SessionError> {
        let job = self.job(claim, desk)?;
        let recorder = ShardRecorder::new(self, claim, desk);
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

    /// Returns the job as lanes see it: its scenario from the library; its policy newly unpacked, or its server.
    pub(super) fn job(&self, claim: &Claim, desk: &ShardWorkspace) -> Result<Job, SessionError> {
        let header = &claim.header;
        let scenario = self.options.engine.scenario(&header.scenario, header.scenario_digest);
        self.missing.note(header, scenario.as_ref().err());
        let scenario = scenario.map_err(|error| match error {
            // Missing files on this machine are not the author's fault.
            ScenarioGone::Missing(_) => outage(&error),
            ScenarioGone::Changed(_) | ScenarioGone::Unfit { .. } => SessionError::Scenario(error.to_string()),
        })?;
        let policy = match &claim.policy_path {
            Some(archive) => {
                let unpacked = desk.work.path().join(POLICY);
                let archive = self.options.data.join(archive);
                let taken = intake(&archive, &unpacked, &IntakeLimits::accepted());
                taken.map_err(|error| if is_storage(&error) { outage(&error) } else { platform(&error) })?;
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
