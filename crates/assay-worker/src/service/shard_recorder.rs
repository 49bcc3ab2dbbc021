//! Records the results of a shard's episodes, each as soon as it is complete and its evidence is stored.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use assay_model::{AccountId, Artifact, AttemptNote, EpisodeResult, Plan, ReplacedAttempt, ReplacementReason};
use assay_store::{BlobError, Claim, EpisodeProgress, Fence, Lease, RecordOutcome, StoreError, Work};

use super::shard_end::ShardEnd;
use super::shared::WorkerShared;
use crate::SessionError;
use crate::episode::evidence;
use crate::episode::rejection::Rejection;
use crate::episode::session_events::SessionEvents;

/// Number of tries to record a result.
const RECORD_TRIES: u32 = 5;
/// Name of the metric for the duration of episodes.
const EPISODE_SECONDS: &str = "assay_episode_duration_seconds";
/// Pause before the second try; doubled each time.
const RECORD_PAUSE: Duration = Duration::from_millis(200);

/// Records the results of the lanes of one shard.
pub(super) struct ShardRecorder<'a> {
    shared: &'a WorkerShared,
    fence: Fence,
    account: AccountId,
    /// True if the shard runs in the secret worlds of a season.
    is_secret: bool,
    plan: Plan,
    /// Episodes from this index on are not wanted: a certification failed before them.
    end: AtomicU32,
    /// The folder of the lanes' evidence until it is stored.
    folder: PathBuf,
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
    fn keep(&self, episode: u32, file: &Artifact) -> Result<(), Rejection> {
        if !self.wanted(episode) {
            return Ok(());
        }
        let path = self.folder.join(evidence::folder_of(episode)).join(&file.name);
        self.kept(episode, self.shared.options.blobs.put(self.fence.job_id, file.sha256, &path))
    }

    fn finished(&self, result: EpisodeResult) -> Result<(), Rejection> {
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
                evidence::forget(&self.folder, episode).map_err(|error| unstored("old evidence", episode, error))
            }
            Ok(RecordOutcome::Fenced) => Err(Rejection::NotHeld { episode }),
            Err(error) => Err(unstored("the result", episode, error)),
        }
    }

    fn note(&self, note: &AttemptNote) -> Result<(), Rejection> {
        let records = &self.shared.options.records;
        match self.offered(|| records.note_attempt(self.fence, note.clone())) {
            Ok(Lease::Held) => Ok(()),
            Ok(Lease::Lost) => Err(Rejection::NotHeld { episode: note.episode() }),
            Err(error) => Err(unstored("a note", note.episode(), error)),
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
    /// Creates a recorder; evidence is in `folder` until it is stored.
    pub(super) fn new(shared: &'a WorkerShared, claim: &Claim, folder: &Path) -> Self {
        let plan = claim.header.plan;
        Self {
            shared,
            fence: claim.fence,
            account: claim.account.clone(),
            is_secret: claim.is_secret(),
            plan,
            end: AtomicU32::new(claim.header.episodes_to_run()),
            folder: folder.to_owned(),
        }
    }

    /// Returns how the work on the shard ended.
    pub(super) fn ended(&self, outcome: Result<(), SessionError>) -> ShardEnd {
        match outcome {
            Ok(()) if self.shared.stopping.is_cancelled() => ShardEnd::HandBack,
            Ok(()) => ShardEnd::Done,
            Err(error) => ShardEnd::from(error),
        }
    }

    /// Waits until evidence is stored.
    fn kept(&self, episode: u32, keeping: impl Future<Output = Result<(), BlobError>>) -> Result<(), Rejection> {
        self.shared.wait(keeping).map_err(|error| {
            // The result of the note is ignored: the records may be unavailable as well.
            let evidence = "the episode's evidence could not be stored";
            let replaced = ReplacedAttempt::new(episode, ReplacementReason::Outage, evidence);
            drop(
                self.shared.wait(self.shared.options.records.note_attempt(self.fence, AttemptNote::Replaced(replaced))),
            );
            unstored("the evidence", episode, error)
        })
    }

    fn record(&self, result: &EpisodeResult) -> Result<RecordOutcome, StoreError> {
        let options = &self.shared.options;
        self.offered(|| options.records.record_episode(self.fence, result.clone(), options.clock.now()))
    }

    /// Writes to the records; retries failed writes after a pause.
    fn offered<T, F>(&self, mut write: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let (mut pause, mut tries) = (RECORD_PAUSE, 1);
        loop {
            match self.shared.wait(write()) {
                Err(error) if tries < RECORD_TRIES => {
                    error.log("write to records failed, retrying");
                    thread::sleep(pause);
                    (tries, pause) = (tries + 1, pause * 2);
                }
                answer => return answer,
            }
        }
    }
}

fn unstored(what: &'static str, episode: u32, error: impl Error + Send + Sync + 'static) -> Rejection {
    Rejection::Unstored { what, episode, source: Box::new(error) }
}
