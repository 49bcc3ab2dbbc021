//! A job's episodes on one lane: the next policy is imported while the current episode runs, and evidence is collected
//! and rendered while the next ones run.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use assay_model::{Artifact, AttemptNote, EpisodeResult, Record, ReplacedAttempt, ReplacementReason, SeedSource};
use assay_scenario::Scenario;
use assay_store::is_disk_full;
use rustix::io::Errno;

use crate::Cancel;
use crate::engine::Staged;
use crate::episode::attempt::Attempted;
use crate::episode::finalizer::{EpisodeFinalizer, Finished, PolicyState};
use crate::episode::host::{EpisodeHost, PreparedPolicy};
use crate::episode::lane::{Lane, LaneError};
use crate::episode::policy::PolicySource;
use crate::episode::results::{self, Loss};

/// Maximum number of times an episode is restarted on evidence from outside the policy.
const MAX_RETRIES: u32 = 3;
/// Maximum number of episodes that wait to be completed; a faster lane waits.
const MAX_WAITING: usize = 4;

/// System errors that are resolved when space is freed or storage is available again.
const SHORTAGES: [Errno; 9] = [
    Errno::IO,
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::ROFS,
    Errno::STALE,
    Errno::NFILE,
    Errno::MFILE,
    Errno::AGAIN,
    Errno::NOMEM,
];

/// A job as its lanes see it.
#[derive(Debug)]
pub struct Job {
    /// The scenario that the policy is evaluated on.
    pub scenario: Arc<Scenario>,
    /// The policy under test.
    pub policy: PolicySource,
    /// The source of the episodes' seeds.
    pub seeds: SeedSource,
    /// The episodes that get a video.
    pub record: Record,
    /// Destination of the evidence, in `episodes/NNN/...`; `None` keeps none.
    pub folder: Option<PathBuf>,
    /// Maximum size of an episode's evidence in bytes; beyond it images are left out ([`crate::episode_share`]).
    pub max_episode_bytes: u64,
}

/// An error that prevents a job's episodes from running. Never the policy's fault.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The job was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The scenario cannot be run; its author's fault.
    #[error("the scenario can't be run: {0}")]
    Scenario(String),
    /// Storage is unavailable or full; try again later.
    #[error("{0}")]
    Outage(String),
    /// The lane or a jail does not work.
    #[error("{0}")]
    Platform(String),
    /// The receiver of results failed.
    #[error("{0}")]
    Rejected(String),
}

/// Receives a session's events.
pub(crate) trait SessionEvents: Sync {
    /// `step` of `of` control steps are done.
    fn progress(&self, episode: u32, step: u32, of: u32);
    /// True if an episode is still wanted; called before it begins. If not, the lane's later episodes are not wanted
    /// either.
    fn wanted(&self, _episode: u32) -> bool {
        true
    }
    /// True if [`Self::keep`] packs files, so that the trace should be written uncompressed.
    fn packs(&self) -> bool {
        false
    }
    /// A file of an episode's evidence is at its destination, under its plain name. An error stops the session.
    fn keep(&self, _episode: u32, _file: &Artifact) -> Result<(), String> {
        Ok(())
    }
    /// Records a fact about an episode that outlives the attempt in which it was observed. An error stops the session.
    fn note(&self, _note: &AttemptNote) -> Result<(), String> {
        Ok(())
    }
    /// The policy of an episode fell asleep or woke up. While it sleeps, its lane needs no processor.
    fn sleeping(&self, _episode: u32, _asleep: bool) {}
    /// An episode is complete, with its video if it gets one. An error stops the session.
    fn finished(&self, result: EpisodeResult) -> Result<(), String>;
}

/// An episode and its policy, which is being prepared.
type UpcomingEpisode<'a> = (u32, Box<dyn PreparedPolicy + 'a>);

/// One lane's work on a job.
pub(crate) struct LaneSession<'a> {
    pub(crate) host: &'a dyn EpisodeHost,
    pub(crate) job: &'a Job,
    pub(crate) core: usize,
    pub(crate) cancel: &'a Cancel,
    pub(crate) staged: Staged,
    pub(crate) lane: Option<Box<dyn Lane>>,
    /// Facts that outlive the attempts at episodes without a result.
    pub(crate) notes: Vec<AttemptNote>,
    /// An attempt is under way, and its policy may have received something.
    pub(crate) begun: bool,
    /// No other worker will retry its episodes.
    is_last_try: bool,
    /// Set when no further episode should begin.
    stopping: Cancel,
}

impl<'a> LaneSession<'a> {
    pub(crate) fn new(
        host: &'a dyn EpisodeHost,
        job: &'a Job,
        core: usize,
        cancel: &'a Cancel,
    ) -> Result<Self, SessionError> {
        let staged = host.staged(&job.scenario).map_err(|e| platform(&e))?;
        let (notes, begun, stopping) = (Vec::new(), false, Cancel::new());
        Ok(Self { host, job, core, cancel, staged, lane: None, notes, begun, is_last_try: true, stopping })
    }

    /// Uses a lane that was started in advance.
    pub(crate) fn with(self, lane: Option<Box<dyn Lane>>) -> Self {
        Self { lane, ..self }
    }

    /// Adds the notes of earlier sessions on its episodes.
    pub(crate) fn with_earlier_notes(self, notes: Vec<AttemptNote>) -> Self {
        Self { notes, ..self }
    }

    /// Sets whether the job is given up if an episode cannot be run.
    pub(crate) fn last_try(self, is_last_try: bool) -> Self {
        Self { is_last_try, ..self }
    }

    /// Begins no further episode once `stopping` is raised.
    pub(crate) fn stopping(self, stopping: Cancel) -> Self {
        Self { stopping, ..self }
    }

    /// Runs the episodes that `next` returns. The calling thread must outlive its lanes and policies.
    pub(crate) fn run(
        &mut self,
        mut next: impl FnMut() -> Option<u32>,
        events: &dyn SessionEvents,
    ) -> Result<(), SessionError> {
        let finisher =
            EpisodeFinalizer { host: self.host, job: self.job, staged: self.staged.clone(), cancel: self.cancel };
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(MAX_WAITING);
            let finishing = scope.spawn(move || finisher.run(&receiver, events));
            let outcome = self.run_all(&mut next, &sender, events);
            drop(sender);
            let panicked = || Err(SessionError::Platform("the finishing thread panicked".to_owned()));
            outcome.and(finishing.join().unwrap_or_else(|_| panicked()))
        })
    }

    /// Returns the lane, which the caller can end at a convenient time.
    pub(crate) fn into_lane(self) -> Option<Box<dyn Lane>> {
        self.lane
    }

    fn run_all(
        &mut self,
        next: &mut dyn FnMut() -> Option<u32>,
        sender: &SyncSender<Finished>,
        events: &dyn SessionEvents,
    ) -> Result<(), SessionError> {
        let mut upcoming = self.upcoming(next)?;
        while let Some((episode, prepared)) = upcoming.take() {
            // The next policy is imported while this one acts. A server needs no preparation, and another lane may be
            // free for the episode.
            let ahead = matches!(self.job.policy, PolicySource::Folder(_));
            if ahead {
                upcoming = self.upcoming(next)?;
            }
            if self.stopping.is_cancelled() || !events.wanted(episode) {
                return Ok(());
            }
            let finished = self.episode(episode, prepared, events)?;
            if sender.send(finished).is_err() {
                // The finalizer stopped: its error is the reason.
                return Ok(());
            }
            if !ahead {
                upcoming = self.upcoming(next)?;
            }
        }
        Ok(())
    }

    fn upcoming(&self, next: &mut dyn FnMut() -> Option<u32>) -> Result<Option<UpcomingEpisode<'a>>, SessionError> {
        next().map(|episode| Ok((episode, self.prepare(episode)?))).transpose()
    }

    fn prepare(&self, episode: u32) -> Result<Box<dyn PreparedPolicy + 'a>, SessionError> {
        self.host.policy(self.job, episode, self.core)
    }

    /// Runs one episode, restarting it where evidence from outside the policy requires it.
    fn episode(
        &mut self,
        episode: u32,
        first: Box<dyn PreparedPolicy + 'a>,
        events: &dyn SessionEvents,
    ) -> Result<Finished, SessionError> {
        let mut prepared = Some(first);
        let mut deaths: Vec<(String, u32)> = Vec::new();
        let mut last = String::new();
        for _ in 0..=MAX_RETRIES {
            let policy = prepared.take().map_or_else(|| self.prepare(episode), Ok)?;
            match self.attempt(episode, policy, events) {
                Ok(Attempted::Finished(finished)) => return Ok(self.with_notes(*finished)),
                Ok(Attempted::Replaced(replaced)) => {
                    last.clone_from(&replaced.evidence);
                    self.replace(replaced, events)?;
                }
                Ok(Attempted::NotBegun(evidence)) => {
                    tracing::warn!(episode, evidence, "the policy is imported again");
                    last = evidence;
                }
                Err(LaneError::Died { exit, by_others, step, log }) => {
                    if !by_others && deaths.contains(&(exit.clone(), step)) {
                        let message = format!("the simulator died twice ({exit}) after control step {step}");
                        return Ok(self.without_end(episode, Loss::SimulatorDied, &message));
                    }
                    tracing::warn!(episode, step, exit, log, "a lane died");
                    last = format!("the simulator's process ended ({exit}) after control step {step}");
                    let reason = ReplacementReason::LaneDied;
                    self.replace(ReplacedAttempt::new(episode, reason, &last), events)?;
                    deaths.push((exit, step));
                }
                Err(error) => return Err(self.stopped(episode, error, events)),
            }
        }
        let tries = MAX_RETRIES + 1;
        // A worker leaves the episode to the next one if there is one; the last uses the observations made so far.
        let seen = |note: &AttemptNote| matches!(note, AttemptNote::Violated { episode: of, .. } if *of == episode);
        if self.is_last_try && self.notes.iter().any(seen) {
            // Recorded violations stay valid, whatever prevented the rest of the episode.
            let message = format!("the episode was cut off in {tries} tries; the last: {last}");
            return Ok(self.without_end(episode, Loss::CutOff, &message));
        }
        Err(SessionError::Platform(format!("episode {episode} could not be run in {tries} tries; the last: {last}")))
    }

    /// Records a replaced attempt.
    fn replace(&mut self, replaced: ReplacedAttempt, events: &dyn SessionEvents) -> Result<(), SessionError> {
        let (episode, reason) = (replaced.episode, replaced.reason);
        tracing::warn!(episode, reason = reason.words(), evidence = replaced.evidence, "the episode is run again");
        let note = AttemptNote::Replaced(replaced);
        events.note(&note).map_err(SessionError::Rejected)?;
        self.notes.push(note);
        Ok(())
    }

    /// Ends an attempt that is not replaced here; another worker may restart the episode.
    fn stopped(&mut self, episode: u32, error: LaneError, events: &dyn SessionEvents) -> SessionError {
        match error {
            LaneError::Cancelled => {
                if std::mem::take(&mut self.begun) {
                    let evidence = "the worker stopped, or its job was cancelled, in the middle of the episode";
                    let replaced = ReplacedAttempt::new(episode, ReplacementReason::ServiceStopped, evidence);
                    // Refused if the job has ended or another worker holds it by now; neither is a problem.
                    drop(events.note(&AttemptNote::Replaced(replaced)));
                }
                SessionError::Cancelled
            }
            LaneError::Refused(message) => SessionError::Scenario(message),
            LaneError::Unrecorded(message) => SessionError::Rejected(message),
            error => {
                let ended = platform(&error);
                let reason = match ended {
                    SessionError::Outage(_) => ReplacementReason::Outage,
                    _ => ReplacementReason::LaneDied,
                };
                if std::mem::take(&mut self.begun) {
                    let replaced = ReplacedAttempt::new(episode, reason, "the simulator could not do its part");
                    drop(events.note(&AttemptNote::Replaced(replaced)));
                }
                ended
            }
        }
    }

    /// Adds the notes of earlier attempts at the episode to its result.
    fn with_notes(&self, mut finished: Finished) -> Finished {
        if !self.notes.is_empty() {
            let clauses = &self.job.scenario.clauses;
            let weights: Vec<f64> = clauses.iter().map(|clause| clause.weight).collect();
            let scales: Vec<f64> = clauses.iter().map(|clause| clause.scale).collect();
            finished.result = finished.result.with_notes(&self.notes, &weights, &scales);
        }
        finished
    }

    /// Returns an episode without an end, with the findings of earlier attempts only.
    fn without_end(&self, episode: u32, loss: Loss, message: &str) -> Finished {
        let seeds = self.job.seeds.episode(episode);
        let result = results::without_end(&self.job.scenario, episode, seeds, (loss, message));
        self.with_notes(Finished { result, world_seed: seeds.world, written: None, policy: PolicyState::None })
    }
}

/// Returns an error with all its causes as an internal error, or as an outage if storage is the cause.
pub(crate) fn platform(error: &(dyn Error + 'static)) -> SessionError {
    if is_storage(error) { outage(error) } else { SessionError::Platform(with_causes(error)) }
}

/// Returns an error with all its causes as an outage of storage.
pub(crate) fn outage(error: &dyn Error) -> SessionError {
    SessionError::Outage(with_causes(error))
}

/// True if the file system, or another shared resource in short supply, is the root of an error.
pub(crate) fn is_storage(error: &(dyn Error + 'static)) -> bool {
    if is_disk_full(error) || matches!(error.downcast_ref(), Some(LaneError::DiskFull(_))) {
        return true;
    }
    let mut cause = Some(error);
    while let Some(error) = cause {
        let code = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        if code.is_some_and(|code| SHORTAGES.iter().any(|errno| errno.raw_os_error() == code)) {
            return true;
        }
        cause = error.source();
    }
    false
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_or_broken_disk_is_an_outage_and_a_missing_file_is_not() {
        for errno in [Errno::NOSPC, Errno::IO, Errno::ROFS, Errno::NOMEM] {
            let lane = LaneError::Io(io::Error::from_raw_os_error(errno.raw_os_error()));
            assert!(matches!(platform(&lane), SessionError::Outage(text) if text.contains("os error")), "{errno}");
        }
        assert!(matches!(platform(&LaneError::DiskFull("no room".into())), SessionError::Outage(_)));
        let missing = LaneError::Io(io::Error::from_raw_os_error(Errno::NOENT.raw_os_error()));
        assert!(matches!(platform(&missing), SessionError::Platform(_)));
    }
}
