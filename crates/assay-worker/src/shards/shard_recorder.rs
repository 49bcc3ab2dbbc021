//! Records the results of a shard's episodes, each as soon as it is complete and its evidence is stored.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use assay_model::{
    AccountId, Artifact, Assignment, AttemptNote, EpisodeResult, Fence, Plan, ReplacedAttempt, ReplacementReason,
};
use assay_store::{EpisodeProgress, Lease, RecordOutcome};

use super::dispatch::DispatchError;
use super::runner::ShardRunner;
use super::shard_end::ShardEnd;
use crate::episode::evidence;
use crate::episode::rejection::Rejection;
use crate::episode::session_events::SessionEvents;
use crate::{Cancel, SessionError};

/// Number of tries to record a result.
const RECORD_TRIES: u32 = 5;
/// Name of the metric for the duration of episodes.
const EPISODE_SECONDS: &str = "assay_episode_duration_seconds";
/// Pause before the second try; doubled each time.
const RECORD_PAUSE: Duration = Duration::from_millis(200);

/// Records the results of the lanes of one shard.
pub(super) struct ShardRecorder<'a> {
    runner: &'a ShardRunner,
    fence: Fence,
    account: AccountId,
    /// True if the shard runs in the secret worlds of a season.
    is_secret: bool,
    plan: Plan,
    /// Episodes from this index on are not wanted: a certification failed before them.
    end: AtomicU32,
    /// The folder of the lanes' evidence until it is stored.
    folder: PathBuf,
    /// Episodes whose evidence could not be stored. Their files are stored at the same time.
    unstored: Mutex<BTreeSet<u32>>,
    /// Set when the lease is lost.
    cancel: &'a Cancel,
}

impl SessionEvents for ShardRecorder<'_> {
    fn progress(&self, episode: u32, step: u32, of: u32) {
        self.runner.dispatch.progress(self.fence.job_id, EpisodeProgress { episode, step, max_steps: of });
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
        self.runner.dispatch.keep(self.fence, file, &path).map_err(|error| {
            if self.unstored.lock().unwrap_or_else(PoisonError::into_inner).insert(episode) {
                // The result of the note is ignored: the records may be unavailable as well.
                let evidence = "the episode's evidence could not be stored";
                let replaced = ReplacedAttempt::new(episode, ReplacementReason::Outage, evidence);
                drop(self.runner.dispatch.note(self.fence, &AttemptNote::Replaced(replaced)));
            }
            unstored("the evidence", episode, error)
        })
    }

    fn finished(&self, result: EpisodeResult) -> Result<(), Rejection> {
        let (episode, seconds) = (result.episode, result.wall_time_s);
        self.runner.dispatch.ended(self.fence.job_id, episode);
        if !self.wanted(episode) {
            return Ok(());
        }
        if self.plan.ends_with(&result) {
            self.end.fetch_min(episode + 1, Ordering::SeqCst);
        }
        match self.offered(|| self.runner.dispatch.record(self.fence, &result)) {
            Ok(RecordOutcome::Fenced) => Err(Rejection::NotHeld { episode }),
            Ok(outcome) => {
                if outcome != RecordOutcome::Duplicate {
                    metrics::histogram!(EPISODE_SECONDS).record(seconds);
                }
                self.runner.dispatch.recorded(self.fence, &result, outcome);
                if matches!(outcome, RecordOutcome::New { left_in_job: 0, .. }) {
                    // The last episode's evidence is removed with the shard's folder: the verdict comes first.
                    return Ok(());
                }
                evidence::forget(&self.folder, episode).map_err(|error| unstored("old evidence", episode, error))
            }
            Err(error) => Err(unstored("the result", episode, error)),
        }
    }

    fn note(&self, note: &AttemptNote) -> Result<(), Rejection> {
        match self.offered(|| self.runner.dispatch.note(self.fence, note)) {
            Ok(Lease::Held) => Ok(()),
            Ok(Lease::Lost) => Err(Rejection::NotHeld { episode: note.episode() }),
            Err(error) => Err(unstored("a note", note.episode(), error)),
        }
    }

    fn sleeping(&self, episode: u32, asleep: bool) {
        // The start of a further lane would reveal to other accounts how a policy behaves in a season's secret worlds.
        if !self.is_secret {
            self.runner.sleepers.set((self.fence.job_id, episode), &self.account, asleep);
        }
    }
}

impl<'a> ShardRecorder<'a> {
    /// Creates a recorder; evidence is in `folder` until it is stored.
    pub(super) fn new(runner: &'a ShardRunner, shard: &Assignment, folder: &Path, cancel: &'a Cancel) -> Self {
        Self {
            runner,
            fence: shard.fence,
            account: shard.account.clone(),
            is_secret: shard.is_secret(),
            plan: shard.plan,
            end: AtomicU32::new(u32::MAX),
            folder: folder.to_owned(),
            unstored: Mutex::default(),
            cancel,
        }
    }

    /// Returns how the work on the shard ended.
    pub(super) fn ended(&self, outcome: Result<(), SessionError>) -> ShardEnd {
        match outcome {
            Ok(()) if self.runner.stopping.is_cancelled() => ShardEnd::HandBack,
            Ok(()) => ShardEnd::Done,
            Err(error) => ShardEnd::from(error),
        }
    }

    /// Writes to the records; retries failed writes after a pause, while the lease is held.
    fn offered<T>(&self, mut write: impl FnMut() -> Result<T, DispatchError>) -> Result<T, DispatchError> {
        let (mut pause, mut tries) = (RECORD_PAUSE, 1);
        loop {
            match write() {
                Err(error) if tries < RECORD_TRIES && !self.cancel.is_cancelled() => {
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
