//! Replay of an episode and comparison with its recording.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_jail::give_to_jail;
use assay_model::lane::files;
use assay_model::{Comparison, EpisodeResult, Record, Sha256Digest};

use crate::engine::core_of;
use crate::episode::evidence;
use crate::episode::lane_session::LaneSession;
use crate::episode::rejection::Rejection;
use crate::episode::session_events::SessionEvents;
use crate::rendering::video::{self, RendererError};
use crate::{Cancel, Engine, EvaluationEvents, Job, SessionError};

/// Maximum work in a replay that a client of a service waits for ([`ReplayOptions::work_limit`]). Longer ones can be
/// run with `assay replay`.
pub const SERVED_REPLAY: Duration = Duration::from_secs(120);
/// Maximum size of a comparison's answer, in bytes.
const ANSWER_BYTES: u64 = 64 * 1024;

/// The reason why an episode could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The episode could not be run.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The recording is not the one that the report refers to.
    #[error("the recording is not the report's: its SHA-256 is {found}, the report says {expected}")]
    OtherRecording {
        /// The hash in the report.
        expected: Sha256Digest,
        /// The hash of the file.
        found: Sha256Digest,
    },
    /// The recording is not a readable trace.
    #[error("the recording can't be compared: {0}")]
    Unreadable(String),
    /// A file of the replay could not be read or written.
    #[error("could not read or write the replay's files")]
    Io(#[from] io::Error),
}

/// An episode that was replayed.
#[derive(Debug)]
pub struct Replay {
    /// Its result in the replay.
    pub result: EpisodeResult,
    /// The comparison of the two recordings.
    pub comparison: Comparison,
}

struct One<'a> {
    result: Mutex<Option<EpisodeResult>>,
    events: &'a dyn EvaluationEvents,
}

impl SessionEvents for One<'_> {
    fn progress(&self, episode: u32, step: u32, of: u32) {
        self.events.progress(episode, step, of);
    }

    fn finished(&self, result: EpisodeResult) -> Result<(), Rejection> {
        self.events.finished(&result);
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        Ok(())
    }
}

/// The way in which an episode is replayed.
#[derive(Debug, Clone, Copy)]
pub struct ReplayOptions<'a> {
    /// Stops the replay.
    pub cancel: &'a Cancel,
    /// Maximum CPU time of simulator and policy together with the policy's sleep; `None` for the episode's own limits.
    pub work_limit: Option<Duration>,
}

/// Runs `recorded` again as an episode of `job` (whose folder and record are ignored) and compares it with its trace in
/// the file `recording`. The calling thread must outlive the lane.
///
/// # Errors
/// [`ReplayError`]; a difference is not an error.
pub fn replay(
    engine: &Engine,
    job: Job,
    recorded: &EpisodeResult,
    recording: &Path,
    ReplayOptions { cancel, work_limit }: ReplayOptions<'_>,
    events: &dyn EvaluationEvents,
) -> Result<Replay, ReplayError> {
    let inputs = engine.scratch("compare")?;
    check(recorded, recording, inputs.path())?;
    let again = engine.scratch("replay")?;
    let job = Job { record: Record::None, folder: Some(again.path().to_owned()), ..job };
    let one = One { result: Mutex::new(None), events };
    let mut episodes = Some(recorded.episode);
    let mut session = LaneSession::new(engine, &job, core_of(0), cancel)?.limited_to(work_limit);
    session.run(|| episodes.take(), &one)?;
    if cancel.is_cancelled() {
        return Err(SessionError::Cancelled.into());
    }
    let result = one.result.into_inner().ok().flatten();
    let result = result.ok_or_else(|| SessionError::internal("the episode was not run"))?;
    let trace = again.path().join(evidence::folder_of(recorded.episode)).join(files::TRACE);
    if !trace.is_file() {
        let why = result.error.map_or_else(String::new, |error| format!(": {}", error.message));
        return Err(ReplayError::Unreadable(format!("the policy did not reach its first step in the replay{why}")));
    }
    fs::copy(trace, inputs.path().join(files::REPLAYED))?;
    let comparison = compare(engine, &job, inputs.path(), cancel)?;
    Ok(Replay { result, comparison })
}

/// Copies the recording into `inputs`, if its hash is the one in the report.
fn check(recorded: &EpisodeResult, recording: &Path, inputs: &Path) -> Result<(), ReplayError> {
    let (folder, name) = (recording.parent().unwrap_or(Path::new(".")), recording.file_name().unwrap_or_default());
    let copy = evidence::take(folder, ".", &name.to_string_lossy(), inputs)?;
    let expected = recorded.evidence.iter().find(|file| file.name.ends_with(files::TRACE));
    if let Some(expected) = expected.filter(|file| file.sha256 != copy.sha256) {
        return Err(ReplayError::OtherRecording { expected: expected.sha256, found: copy.sha256 });
    }
    Ok(fs::rename(inputs.join(name), inputs.join(files::RECORDED))?)
}

fn compare(engine: &Engine, job: &Job, inputs: &Path, cancel: &Cancel) -> Result<Comparison, ReplayError> {
    give_to_jail(inputs)?;
    let staged = engine.staged(&job.scenario).map_err(SessionError::of)?;
    video::finish(engine, "compare", &staged, inputs, cancel).map_err(|error| match error {
        RendererError::Failed(message) => ReplayError::Unreadable(message),
        RendererError::Cancelled => SessionError::Cancelled.into(),
        error => SessionError::of(error).into(),
    })?;
    let answer = evidence::read(inputs, files::COMPARISON, ANSWER_BYTES)?;
    serde_json::from_slice(&answer).map_err(|e| ReplayError::Unreadable(e.to_string()))
}
