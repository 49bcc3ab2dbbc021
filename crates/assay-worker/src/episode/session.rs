//! A job's episodes on one lane: the next policy is imported while the current episode runs, and evidence is collected
//! and rendered while the next ones run.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use assay_model::{AttemptNote, ReplacedAttempt, ReplacementReason};

use crate::SessionError;
use crate::episode::attempt::{Attempted, EpisodeAttemptError};
use crate::episode::finalizer::{EpisodeFinalizer, Finished, PolicyState};
use crate::episode::host::PreparedPolicy;
use crate::episode::lane::LaneError;
use crate::episode::lane_session::LaneSession;
use crate::episode::policy::PolicySource;
use crate::episode::results::{self, Loss};
use crate::episode::session_events::SessionEvents;

/// Maximum number of restarts of an episode because of interference from outside the policy.
const MAX_RETRIES: u32 = 3;
/// Maximum number of episodes that wait to be completed; a lane that is further ahead waits.
const MAX_WAITING: usize = 4;

/// An episode and its policy, which is being prepared.
type UpcomingEpisode<'a> = (u32, Box<dyn PreparedPolicy + 'a>);

impl<'a> LaneSession<'a> {
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
            let panicked = || Err(SessionError::internal("the thread that completes episodes panicked"));
            outcome.and(finishing.join().unwrap_or_else(|_| panicked()))
        })
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

    /// Runs one episode, and restarts it if evidence from outside the policy requires it.
    fn episode(
        &mut self,
        episode: u32,
        first: Box<dyn PreparedPolicy + 'a>,
        events: &dyn SessionEvents,
    ) -> Result<Finished, SessionError> {
        let mut prepared = Some(first);
        let mut deaths: Vec<(String, u32)> = Vec::new();
        let mut last = String::new();
        let mut tries = 0;
        while tries <= MAX_RETRIES {
            tries += 1;
            let policy = prepared.take().map_or_else(|| self.prepare(episode), Ok)?;
            match self.attempt(episode, policy, events) {
                Ok(Attempted::Finished(finished)) => return Ok(self.with_notes(*finished)),
                Ok(Attempted::Replaced(replaced)) => {
                    last.clone_from(&replaced.evidence);
                    self.replace(replaced, events)?;
                }
                Ok(Attempted::NotBegun(evidence)) => {
                    tracing::warn!(episode, evidence, "importing policy again");
                    last = evidence;
                }
                Err(EpisodeAttemptError::Lane(LaneError::Died { exit, by_others, step, log })) => {
                    if !by_others && deaths.contains(&(exit.clone(), step)) {
                        let message = format!("the simulator died twice ({exit}) after control step {step}");
                        return Ok(self.without_end(episode, Loss::SimulatorDied, &message));
                    }
                    tracing::warn!(episode, step, exit, log, "lane died");
                    last = format!("the simulator's process ended ({exit}) after control step {step}");
                    let reason = ReplacementReason::LaneDied;
                    self.replace(ReplacedAttempt::new(episode, reason, &last), events)?;
                    deaths.push((exit, step));
                }
                // A policy that connects elsewhere after each interruption does not begin anew.
                Err(EpisodeAttemptError::Preparation(SessionError::PolicyElsewhere)) if !last.is_empty() => {
                    tries -= 1;
                    break;
                }
                Err(error) => return Err(self.stopped(episode, error, events)),
            }
        }
        // Another worker may retry the episode. On the last try, the violations recorded so far decide its result.
        let seen = |note: &AttemptNote| matches!(note, AttemptNote::Violated { episode: of, .. } if *of == episode);
        if self.is_last_try && self.notes.iter().any(seen) {
            // Recorded violations stay valid, regardless of what prevented the rest of the episode.
            let message = format!("the episode was interrupted in each of {tries} attempts; the last time: {last}");
            return Ok(self.without_end(episode, Loss::CutOff, &message));
        }
        Err(SessionError::Interrupted { episode, tries, last })
    }

    /// Records a replaced attempt.
    fn replace(&mut self, replaced: ReplacedAttempt, events: &dyn SessionEvents) -> Result<(), SessionError> {
        let (episode, reason) = (replaced.episode, replaced.reason);
        tracing::warn!(episode, reason = reason.words(), evidence = replaced.evidence, "running episode again");
        let note = AttemptNote::Replaced(replaced);
        events.note(&note)?;
        self.notes.push(note);
        Ok(())
    }

    /// Converts the error of an attempt that is not repeated here; another worker may restart the episode.
    fn stopped(&mut self, episode: u32, error: EpisodeAttemptError, events: &dyn SessionEvents) -> SessionError {
        let ended = match error {
            EpisodeAttemptError::Lane(LaneError::Cancelled) => SessionError::Cancelled,
            EpisodeAttemptError::Lane(LaneError::OverLimit(_)) => SessionError::OverWorkLimit,
            EpisodeAttemptError::Lane(LaneError::Refused(message)) => SessionError::Scenario(message),
            EpisodeAttemptError::Lane(LaneError::Unrecorded(rejection)) => SessionError::Rejected(rejection),
            EpisodeAttemptError::Lane(error) => SessionError::of(error),
            EpisodeAttemptError::Preparation(error) => error,
        };
        let interruption = match &ended {
            SessionError::Cancelled => Some((
                ReplacementReason::ServiceStopped,
                "the worker stopped, or its job was cancelled, in the middle of the episode",
            )),
            SessionError::Outage(_) => Some((ReplacementReason::Outage, "the simulator failed")),
            SessionError::Internal(_) | SessionError::Interrupted { .. } => {
                Some((ReplacementReason::LaneDied, "the simulator failed"))
            }
            SessionError::PolicyElsewhere
            | SessionError::OverWorkLimit
            | SessionError::Scenario(_)
            | SessionError::Rejected(_) => None,
        };
        if let Some((reason, evidence)) = interruption
            && std::mem::take(&mut self.begun)
        {
            let replaced = ReplacedAttempt::new(episode, reason, evidence);
            // Rejected if the job has ended or now belongs to another worker; neither is a problem.
            drop(events.note(&AttemptNote::Replaced(replaced)));
        }
        ended
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

    /// Returns an episode that did not reach its end, with only the violations seen in earlier attempts.
    fn without_end(&self, episode: u32, loss: Loss, message: &str) -> Finished {
        let seeds = self.job.seeds.episode(episode);
        let result = results::without_end(&self.job.scenario, episode, seeds, (loss, message));
        self.with_notes(Finished { result, world_seed: seeds.world, written: None, policy: PolicyState::None })
    }
}
