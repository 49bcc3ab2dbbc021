//! Rendering of an episode after the verdict: its log, and then its video. Each has a separate signed statement,
//! so that the statement signed with the verdict does not change.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use assay_model::lane::{RenderPart, files};
use assay_model::{Artifact, EpisodeResult, JobId, Record, SeedSource};
use assay_report::attest::{Envelope, Evidence, RenderingStatement};
use assay_scenario::Scenario;

use crate::episode::evidence;
use crate::rendering::video::{self, Recording, RendererError, Urgency};
use crate::signing::statement::sha256_of;
use crate::{Cancel, Engine, Keyring, SignError};

/// Resources for rendering.
#[derive(Debug, Clone, Copy)]
pub struct DrawTools<'a> {
    /// Runs renderers.
    pub engine: &'a Engine,
    /// Signs what was drawn.
    pub keyring: &'a Keyring,
}

/// A job whose episodes are drawn.
#[derive(Debug)]
pub struct DrawJob<'a> {
    /// The job.
    pub job_id: JobId,
    /// Its scenario, in the version that was run.
    pub scenario: &'a Scenario,
    /// Draws its worlds again.
    pub seeds: SeedSource,
    /// SHA-256 of the job's signed statement.
    pub statement_sha256: &'a str,
    /// Most bytes of an episode's evidence ([`crate::episode_share`]); over it images are left out.
    pub max_episode_bytes: u64,
}

/// Files of a part, named relative to the report, and what is missing of it.
#[derive(Debug, Default)]
pub struct Drawn {
    /// Empty where nothing could be drawn on this machine.
    pub files: Vec<Artifact>,
    /// Missing parts, with reasons.
    pub notes: Vec<String>,
}

/// A part that was not rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderingError {
    /// The recording is not the one that the result speaks of.
    #[error("the recording is not the one of the result")]
    OtherRecording,
    /// The renderer.
    #[error("{0}")]
    Render(String),
    /// A file of ours.
    #[error("a file to draw from, or to write")]
    Io(#[from] std::io::Error),
    /// The scenario can't be handed to a jail.
    #[error("files for the jail")]
    Stage(#[from] assay_jail::StageError),
    /// No signature.
    #[error(transparent)]
    Sign(#[from] SignError),
}

impl From<RendererError> for RenderingError {
    fn from(error: RendererError) -> Self {
        Self::Render(crate::episode::session::platform(&error).to_string())
    }
}

/// Returns the note about a part that was given up.
pub(crate) fn missing(part: RenderPart) -> &'static str {
    match part {
        RenderPart::Log => "the log is missing: it could not be written",
        RenderPart::Video => "the video is missing: it could not be drawn",
    }
}

fn statement_of(part: RenderPart) -> &'static str {
    match part {
        RenderPart::Log => files::LOG_STATEMENT,
        RenderPart::Video => files::VIDEO_STATEMENT,
    }
}

/// Draws `part` of the episode whose recording lies in `folder`, signs what was drawn, and puts all of it there.
/// `drawn_bytes` is what was drawn of it before; `frames` hears how many frames there are. The calling thread must live
/// as long as the renderer.
pub(crate) fn draw(
    tools: DrawTools<'_>,
    job: &DrawJob<'_>,
    (result, part, drawn_bytes): (&EpisodeResult, RenderPart, u64),
    folder: &Path,
    (urgency, cancel, frames): (Urgency, &Cancel, &dyn Fn(u32)),
) -> Result<Drawn, RenderingError> {
    let recording = result.evidence.iter().find(|file| file.name.ends_with(files::TRACE));
    let recording = recording.ok_or(RenderingError::OtherRecording)?;
    if sha256_of(&folder.join(files::TRACE))? != recording.sha256 {
        return Err(RenderingError::OtherRecording);
    }
    let used: u64 = result.evidence.iter().map(|file| file.size_bytes).sum::<u64>() + drawn_bytes;
    let staged = tools.engine.staged(job.scenario)?;
    let order = Recording {
        staged: &staged,
        folder,
        result,
        world_seed: job.seeds.episode(result.episode).world,
        max_image_bytes: job.max_episode_bytes.saturating_sub(used),
    };
    let written = video::render(tools.engine, &order, part, (urgency, cancel, frames))?;
    let mut drawn = Drawn { files: written.files, notes: written.notes };
    if !drawn.files.is_empty() {
        let about = (job.job_id, result.episode);
        let statement =
            sign(tools, about, &drawn.files, (&recording.sha256, job.statement_sha256), folder, statement_of(part));
        drawn.files.push(statement?);
    }
    let inside = evidence::folder_of(result.episode);
    drawn.files.iter_mut().for_each(|file| file.name = format!("{inside}/{}", file.name));
    Ok(drawn)
}

/// Writes the statement about `files`, in place at once: whoever sees it sees complete files beside it.
fn sign(
    tools: DrawTools<'_>,
    about: (JobId, u32),
    drawn: &[Artifact],
    from: (&str, &str),
    folder: &Path,
    name: &str,
) -> Result<Artifact, SignError> {
    let evidence: Vec<_> =
        drawn.iter().map(|file| Evidence { name: file.name.clone(), sha256: file.sha256.clone() }).collect();
    let statement = RenderingStatement::of(about, &evidence, from, env!("CARGO_PKG_VERSION"));
    let envelope = Envelope::sign(&statement.to_bytes()?, &tools.keyring.current()?)?;
    let mut text = serde_json::to_vec_pretty(&envelope).map_err(SignError::Json)?;
    text.push(b'\n');
    let partial = folder.join(format!(".{name}.partial"));
    fs::write(&partial, &text)?;
    fs::rename(&partial, folder.join(name))?;
    artifact(folder, name).map_err(SignError::Io)
}

fn artifact(folder: &Path, name: &str) -> std::io::Result<Artifact> {
    let path = folder.join(name);
    let size_bytes = fs::metadata(&path)?.len();
    Ok(Artifact { name: name.to_owned(), sha256: sha256_of(&path)?, size_bytes, url: None })
}

/// Receiver of the events of [`draw_all`]; called from several threads.
pub trait DrawEvents: Sync {
    /// So many frames of an episode are drawn.
    fn frames(&self, episode: u32, frames: u32);
    /// A part of an episode is there, or given up.
    fn finished(&self, episode: u32, part: RenderPart, outcome: &Result<Drawn, RenderingError>);
}

/// Most frames of an episode's video.
#[must_use]
pub fn frames_of(result: &EpisodeResult) -> u32 {
    video::frames(result.sim_time_s).1
}

/// Returns the files of an episode that were rendered completely into `folder` before, named relative to the report.
///
/// # Errors
/// A file can't be read.
pub fn drawn_in(folder: &Path, episode: u32) -> std::io::Result<Vec<Artifact>> {
    let (inside, mut found) = (evidence::folder_of(episode), Vec::new());
    let place = folder.join(&inside);
    for part in [RenderPart::Log, RenderPart::Video] {
        if !place.join(statement_of(part)).is_file() {
            continue;
        }
        let names: &[&str] = match part {
            RenderPart::Log => &[files::LOG, files::LOG_STATEMENT],
            RenderPart::Video => &[files::VIDEO, files::IMAGES, files::VIDEO_STATEMENT],
        };
        for name in names.iter().filter(|name| place.join(name).is_file()) {
            let file = artifact(&place, name)?;
            found.push(Artifact { name: format!("{inside}/{name}"), ..file });
        }
    }
    Ok(found)
}

/// Parts to draw of `results`, whose recordings lie below `folder`: those that `record` names and that are not there
/// yet. Logs first, and episodes with a violation before others.
///
/// # Errors
/// A file can't be read.
pub fn undrawn(folder: &Path, results: &[EpisodeResult], record: Record) -> std::io::Result<Vec<(u32, RenderPart)>> {
    let mut parts = Vec::new();
    for result in results.iter().filter(|result| record.wants(result)) {
        let there = drawn_in(folder, result.episode)?;
        let has = |name: &str| result.evidence.iter().chain(&there).any(|file| file.name.ends_with(name));
        let order = |part| (part, result.violations.is_empty(), result.episode);
        if has(files::TRACE) && !has(files::LOG) {
            parts.push(order(RenderPart::Log));
        }
        if has(files::TRACE) && !has(files::VIDEO) {
            parts.push(order(RenderPart::Video));
        }
    }
    parts.sort_unstable();
    Ok(parts.into_iter().map(|(part, _, episode)| (episode, part)).collect())
}

/// Draws `parts` of `results` into `folder`, on `lanes` threads, until it is cancelled. Whether everything was drawn.
pub fn draw_all(
    tools: DrawTools<'_>,
    job: &DrawJob<'_>,
    (folder, results): (&Path, &[EpisodeResult]),
    parts: Vec<(u32, RenderPart)>,
    (lanes, cancel): (usize, &Cancel),
    events: &dyn DrawEvents,
) -> bool {
    let failed = Cancel::new();
    // A video's room is what its log leaves.
    let (logs, videos): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(_, part)| *part == RenderPart::Log);
    for parts in [logs, videos] {
        let queue = Mutex::new(VecDeque::from(parts));
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let work = || {
            while let Some((episode, part)) = next().filter(|_| !cancel.is_cancelled()) {
                let Some(result) = results.iter().find(|result| result.episode == episode) else { continue };
                let place = folder.join(evidence::folder_of(episode));
                let before = drawn_in(folder, episode).unwrap_or_default();
                let bytes = before.iter().map(|file| file.size_bytes).sum();
                let frames = |count| events.frames(episode, count);
                let (what, how) = ((result, part, bytes), (Urgency::Awaited, cancel, &frames as &dyn Fn(u32)));
                let outcome = draw(tools, job, what, &place, how);
                if cancel.is_cancelled() {
                    break;
                }
                if outcome.is_err() {
                    failed.cancel();
                }
                events.finished(episode, part, &outcome);
            }
        };
        thread::scope(|scope| {
            for _ in 0..lanes.max(1) {
                scope.spawn(work);
            }
        });
    }
    !failed.is_cancelled() && !cancel.is_cancelled()
}
