//! Completion of an episode after its last step: its policy is ended and its evidence is collected, on a separate
//! thread while the lane runs the next episode. Log and video are rendered after the verdict ([`crate::drawing`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{self, ScopedJoinHandle};

use assay_model::lane::{RenderPart, files};
use assay_model::{Artifact, EpisodeResult, ErrorChain, PolicyErrorCode};
use assay_policy::remote::AnswerCounts;
use assay_policy::{PolicyConnection, PolicyEnd};
use tempfile::TempDir;

use crate::engine::Staged;
use crate::episode::evidence;
use crate::episode::host::EpisodeHost;
use crate::episode::session_events::SessionEvents;
use crate::rendering::drawing;
use crate::rendering::video;
use crate::{Cancel, Job, SessionError};

/// Note about a recording that its lane removed.
const TOO_MANY_OBSERVATIONS: &str =
    "observations were not kept: they would take more than half of the episode's share of the evidence";

/// An episode that has run.
pub(crate) struct Finished {
    pub(crate) result: EpisodeResult,
    pub(crate) world_seed: u64,
    /// Output of the lane, if evidence is kept.
    pub(crate) written: Option<LaneOutput>,
    pub(crate) policy: PolicyState,
}

/// The state of the policy after its episode.
pub(crate) enum PolicyState {
    /// No policy was started.
    None,
    /// Its process or connection is still open.
    Running(Box<dyn PolicyConnection>),
    /// It has ended.
    Ended(PolicyEnd),
}

/// Evidence as written by the lane; untrusted, see [`evidence`].
pub(crate) struct LaneOutput {
    /// The lane's folder, which may outlive the lane.
    pub(crate) scratch: Arc<TempDir>,
    /// The episode's folder in it.
    pub(crate) inside: String,
    /// The destination folder.
    pub(crate) destination: PathBuf,
    /// True if the requested recording of observations is complete; `None` if none was requested.
    pub(crate) observations: Option<bool>,
}

impl LaneOutput {
    /// Copies and stores the files concurrently: the disk writes one while others are copied.
    fn take(&self, result: &mut EpisodeResult, events: &dyn SessionEvents) -> Result<(), SessionError> {
        let episode = result.episode;
        let take = |name| {
            let file = evidence::take(self.scratch.path(), &self.inside, name, &self.destination);
            let file = file.map_err(SessionError::of)?;
            events.keep(episode, &file)?;
            Ok(file)
        };
        let panicked = |_| Err(SessionError::internal("the thread that copies evidence panicked"));
        thread::scope(|scope| {
            let observations = (self.observations == Some(true)).then_some(files::OBSERVATIONS);
            let names = files::STEPPED.into_iter().chain(observations);
            let copies: Vec<_> = names.map(|name| scope.spawn(move || take(name))).collect();
            for file in copies {
                result.evidence.push(file.join().unwrap_or_else(panicked)?);
            }
            if self.observations == Some(false) {
                result.evidence_notes.push(TOO_MANY_OBSERVATIONS.to_owned());
            }
            Ok(())
        })
    }

    /// Removes the lane's files. Any that cannot be removed are deleted with the lane's folder.
    pub(crate) fn forget(&self) {
        drop(std::fs::remove_dir_all(self.scratch.path().join(&self.inside)));
    }
}

/// Completes episodes and passes on their results, in order, until the lane is done.
pub(crate) struct EpisodeFinalizer<'a> {
    pub(crate) host: &'a dyn EpisodeHost,
    pub(crate) job: &'a Job,
    pub(crate) staged: Staged,
    pub(crate) cancel: &'a Cancel,
}

impl EpisodeFinalizer<'_> {
    pub(crate) fn run(&self, receiver: &Receiver<Finished>, events: &dyn SessionEvents) -> Result<(), SessionError> {
        for finished in receiver {
            let Finished { result, world_seed, written, policy } = finished;
            let result = self.finish((result, world_seed), written.as_ref(), policy, events)?;
            if self.cancel.is_cancelled() {
                // The result is no longer wanted, and its video may be missing.
                return Ok(());
            }
            events.finished(result)?;
            written.iter().for_each(LaneOutput::forget);
        }
        Ok(())
    }

    /// Completes the result. The policy's process ends while the evidence is copied and stored.
    fn finish(
        &self,
        (mut result, world_seed): (EpisodeResult, u64),
        written: Option<&LaneOutput>,
        policy: PolicyState,
        events: &dyn SessionEvents,
    ) -> Result<EpisodeResult, SessionError> {
        thread::scope(|scope| {
            let timed_out = is_timed_out(&result);
            let mut ending = match policy {
                PolicyState::None => None,
                PolicyState::Running(policy) => Some(scope.spawn(move || end(policy, timed_out))),
                PolicyState::Ended(end) => Some(scope.spawn(move || end)),
            };
            if let Some(written) = written {
                written.take(&mut result, events)?;
            }
            // The rendering of a failure shows how the process ended.
            if result.error.is_some() {
                ended(ending.take(), &mut result)?;
            }
            if let Some(written) = written {
                self.complete(&mut result, world_seed, &written.destination, events)?;
            }
            ended(ending, &mut result)?;
            Ok(result)
        })
    }

    /// Adds the episode's evidence to the result. Log and video follow after the verdict ([`crate::drawing`]), except
    /// those of a submission's showcase, which are published with the verdict.
    fn complete(
        &self,
        result: &mut EpisodeResult,
        world_seed: u64,
        folder: &Path,
        events: &dyn SessionEvents,
    ) -> Result<(), SessionError> {
        if self.job.seeds.is_showcase(result.episode) && result.steps > 0 {
            for part in [RenderPart::Log, RenderPart::Video] {
                let drawn = self.draw(result, part, world_seed, folder);
                for file in &drawn {
                    events.keep(result.episode, file)?;
                }
                result.evidence.extend(drawn);
            }
        }
        let inside = evidence::folder_of(result.episode);
        result.evidence.iter_mut().for_each(|file| file.name = format!("{inside}/{}", file.name));
        result.evidence.sort_by(|a, b| a.name.cmp(&b.name));
        let path = |name: &str| Some(format!("{inside}/{name}")).filter(|path| result.has_evidence(path));
        let log = path(files::LOG).or_else(|| path(files::TRACE));
        result.video_path = path(files::VIDEO);
        result.set_log(log);
        Ok(())
    }

    fn draw(&self, result: &mut EpisodeResult, part: RenderPart, world_seed: u64, folder: &Path) -> Vec<Artifact> {
        let used = result.evidence.iter().map(|file| file.size_bytes).sum();
        let recording = video::Recording {
            staged: &self.staged,
            folder,
            result,
            world_seed,
            format: None,
            max_image_bytes: self.job.max_episode_bytes.saturating_sub(used),
        };
        match self.host.showcase(&recording, part, self.cancel) {
            Ok(written) => {
                result.evidence_notes.extend(written.notes);
                written.files
            }
            Err(error) => {
                // The details are for the operator only, since they may describe this machine.
                tracing::warn!(episode = result.episode, "could not render showcase: {}", ErrorChain(&error));
                result.evidence_notes.push(drawing::missing(part).to_owned());
                Vec::new()
            }
        }
    }
}

/// Ends the policy's process. If the episode has an error, adds how the process ended and the end of its log.
pub(crate) fn end_policy(policy: Box<dyn PolicyConnection>, result: &mut EpisodeResult) -> Option<AnswerCounts> {
    add_policy_end(end(policy, is_timed_out(result)), result)
}

fn is_timed_out(result: &EpisodeResult) -> bool {
    let has_no_answer = |code: &PolicyErrorCode| code.is_timeout() && *code != PolicyErrorCode::ImportTimeout;
    result.error.as_ref().is_some_and(|error| has_no_answer(&error.code))
}

fn end(policy: Box<dyn PolicyConnection>, timed_out: bool) -> PolicyEnd {
    if timed_out { policy.abort() } else { policy.finish() }
}

/// Waits for the policy's end, and adds it to the result.
fn ended(ending: Option<ScopedJoinHandle<'_, PolicyEnd>>, result: &mut EpisodeResult) -> Result<(), SessionError> {
    let Some(ending) = ending else { return Ok(()) };
    let end = ending.join().map_err(|_| SessionError::internal("the thread that ends the policy panicked"))?;
    add_policy_end(end, result);
    Ok(())
}

fn add_policy_end(end: PolicyEnd, result: &mut EpisodeResult) -> Option<AnswerCounts> {
    let unasked = end.answers.map_or(0, |answers| answers.unasked);
    if unasked > 0 {
        result.evidence_notes.push(format!(
            "the policy server sent {unasked} more messages than it was asked for: an answer may have been mistaken for \
             the answer to a later observation"
        ));
    }
    let Some(error) = &mut result.error else { return end.answers };
    if error.code == PolicyErrorCode::Exited
        && let Some(failure) = end.failure()
    {
        (error.code, error.message) = (failure.code, failure.message);
    }
    if error.log_tail.is_empty() {
        error.log_tail = end.log_tail;
    }
    end.answers
}
