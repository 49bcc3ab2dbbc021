//! Rendering of an episode after the verdict: its log, then its video. Each has a signed statement of its own, so that
//! the files signed with the verdict stay unchanged.

use std::collections::VecDeque;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use assay_jail::UntrustedFolder;
use assay_model::lane::{RenderPart, files};
use assay_model::{Artifact, EpisodeResult, JobId, Record, SeedSource, Sha256Digest};
use assay_report::attest::{Envelope, Evidence, RenderingStatement};
use assay_scenario::Scenario;

use crate::episode::evidence;
use crate::rendering::video::{self, Recording, RendererError, Urgency};
use crate::{Cancel, Engine, Keyring, SignError};

/// The context for rendering.
#[derive(Debug, Clone, Copy)]
pub struct DrawTools<'a> {
    /// Runs renderers.
    pub engine: &'a Engine,
    /// Signs the rendered files.
    pub keyring: &'a Keyring,
}

/// A job whose episodes are rendered.
#[derive(Debug)]
pub struct DrawJob<'a> {
    /// The job.
    pub job_id: JobId,
    /// Its scenario, in the version that was run.
    pub scenario: &'a Scenario,
    /// The source from which its worlds are drawn again.
    pub seeds: SeedSource,
    /// SHA-256 of the job's signed statement.
    pub statement_sha256: Sha256Digest,
    /// Maximum size of an episode's evidence in bytes ([`assay_model::episode_share`]); beyond it images are left out.
    pub max_episode_bytes: u64,
}

/// The files of a part, named relative to the report, and notes on missing ones.
#[derive(Debug, Default)]
pub struct RenderedPart {
    /// Empty if nothing could be rendered on this machine.
    pub files: Vec<Artifact>,
    /// The missing files, with reasons.
    pub notes: Vec<String>,
}

/// The reason why a part was not rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderingError {
    /// The recording is not the one that the result refers to.
    #[error("the recording is not the one that the result refers to")]
    OtherRecording,
    /// The renderer failed.
    #[error(transparent)]
    Render(RendererError),
    /// An input or output file could not be read or written.
    #[error("could not read the recording or write the output")]
    Io(#[from] std::io::Error),
    /// The scenario's files could not be made available to a jail.
    #[error("could not make files readable for the jail")]
    Stage(#[from] assay_jail::StageError),
    /// The files could not be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
}

impl From<RendererError> for RenderingError {
    fn from(error: RendererError) -> Self {
        Self::Render(error)
    }
}

/// Returns the note for a part that was abandoned.
pub(crate) fn missing(part: RenderPart) -> &'static str {
    match part {
        RenderPart::Log => "the log is missing: it could not be written",
        RenderPart::Video => "the video is missing: it could not be rendered",
    }
}

fn statement_of(part: RenderPart) -> &'static str {
    match part {
        RenderPart::Log => files::LOG_STATEMENT,
        RenderPart::Video => files::VIDEO_STATEMENT,
    }
}

/// Renders `part` of the episode whose recording is in `folder`, signs the files, and stores them there. They are
/// rendered from a private copy of the recording, since others may have made the folder. `drawn_bytes` is the size of
/// the files rendered before; `frames` receives the number of frames. The calling thread must outlive the renderer.
pub(crate) fn draw(
    tools: DrawTools<'_>,
    job: &DrawJob<'_>,
    (result, part, drawn_bytes): (&EpisodeResult, RenderPart, u64),
    folder: &UntrustedFolder,
    (urgency, cancel, frames): (Urgency, &Cancel, &dyn Fn(u32)),
) -> Result<RenderedPart, RenderingError> {
    let recording = result.evidence.iter().find(|file| file.name.ends_with(files::TRACE));
    let recording = recording.ok_or(RenderingError::OtherRecording)?;
    let work = tools.engine.scratch("drawn")?;
    let (found, _) = folder.copy_to(files::TRACE, &mut File::create_new(work.path().join(files::TRACE))?)?;
    if found != recording.sha256 {
        return Err(RenderingError::OtherRecording);
    }
    let max_image_bytes = image_bytes(result, job.max_episode_bytes, drawn_bytes);
    let staged = tools.engine.staged(job.scenario)?;
    let order = Recording {
        staged: &staged,
        folder: work.path(),
        result,
        world_seed: job.seeds.episode(result.episode).world,
        format: None,
        max_image_bytes,
    };
    let written = video::render(tools.engine, &order, part, (urgency, cancel, frames))?;
    let source = UntrustedFolder::open(work.path())?;
    let stored = written.files.iter().map(|file| evidence::put(&source, &file.name, folder));
    let drawn = RenderedPart { files: stored.collect::<Result<_, _>>()?, notes: written.notes };
    let from = RenderedFrom { job_id: job.job_id, statement_sha256: job.statement_sha256, result, worker: None };
    Ok(signed_in(tools.keyring, &from, part, drawn, folder)?)
}

/// Returns the maximum size of an episode's images: what its other files leave of its share. `drawn_bytes` is the size
/// of the files rendered before.
#[must_use]
pub fn image_bytes(result: &EpisodeResult, max_episode_bytes: u64, drawn_bytes: u64) -> u64 {
    let used = result.evidence.iter().map(|file| file.size_bytes).fold(drawn_bytes, u64::saturating_add);
    max_episode_bytes.saturating_sub(used)
}

/// The origin of rendered files.
#[derive(Debug, Clone, Copy)]
pub struct RenderedFrom<'a> {
    /// The job.
    pub job_id: JobId,
    /// SHA-256 of the job's signed statement.
    pub statement_sha256: Sha256Digest,
    /// The episode, with its recording among its evidence.
    pub result: &'a EpisodeResult,
    /// The worker on another host that rendered them.
    pub worker: Option<&'a str>,
}

/// Adds the statement about the files of a part, which are in `folder`, and names all of them relative to the report.
///
/// # Errors
/// The statement could not be signed or written.
pub fn signed(
    keyring: &Keyring,
    from: &RenderedFrom<'_>,
    part: RenderPart,
    drawn: RenderedPart,
    folder: &Path,
) -> Result<RenderedPart, SignError> {
    signed_in(keyring, from, part, drawn, &UntrustedFolder::open(folder)?)
}

fn signed_in(
    keyring: &Keyring,
    from: &RenderedFrom<'_>,
    part: RenderPart,
    mut drawn: RenderedPart,
    folder: &UntrustedFolder,
) -> Result<RenderedPart, SignError> {
    if !drawn.files.is_empty() {
        drawn.files.push(sign(keyring, from, &drawn.files, folder, statement_of(part))?);
    }
    let inside = evidence::folder_of(from.result.episode);
    drawn.files.iter_mut().for_each(|file| file.name = format!("{inside}/{}", file.name));
    Ok(drawn)
}

/// Writes the statement about `drawn` atomically, after the files are complete.
fn sign(
    keyring: &Keyring,
    from: &RenderedFrom<'_>,
    drawn: &[Artifact],
    folder: &UntrustedFolder,
    name: &str,
) -> Result<Artifact, SignError> {
    let evidence: Vec<_> = drawn.iter().map(|file| Evidence::new(&file.name, file.sha256)).collect();
    let recording = from.result.evidence.iter().find(|file| file.name.ends_with(files::TRACE));
    let recording = recording.ok_or_else(|| std::io::Error::other("the result has no recording"))?;
    let about = (from.job_id, from.result.episode);
    let digests = (recording.sha256, from.statement_sha256);
    let statement = RenderingStatement::of(about, &evidence, digests, env!("CARGO_PKG_VERSION")).by(from.worker);
    let envelope = Envelope::sign(&statement.to_bytes()?, &keyring.current()?)?;
    let mut text = serde_json::to_vec_pretty(&envelope).map_err(SignError::Json)?;
    text.push(b'\n');
    folder.write(name, &text)?;
    Ok(Artifact { name: name.to_owned(), sha256: Sha256Digest::of(&text), size_bytes: text.len() as u64 })
}

/// Receives the events of [`render_parts`]; called from several threads.
pub trait DrawEvents: Sync {
    /// Called when this many frames of an episode are rendered.
    fn frames(&self, episode: u32, frames: u32);
    /// Called when a part of an episode is complete, or was abandoned.
    fn finished(&self, episode: u32, part: RenderPart, outcome: &Result<RenderedPart, RenderingError>);
}

/// Returns the files of all parts of an episode that are complete in `folder`, named relative to the report.
///
/// # Errors
/// A file can't be read.
pub fn drawn_in(folder: &Path, episode: u32) -> std::io::Result<Vec<Artifact>> {
    let (inside, mut found) = (evidence::folder_of(episode), Vec::new());
    let folder = match UntrustedFolder::open(folder).and_then(|folder| folder.folder(&inside)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        folder => folder?,
    };
    let is_file = |name: &str| folder.kind(name).is_some_and(|kind| kind.is_file());
    for part in [RenderPart::Log, RenderPart::Video] {
        if !is_file(statement_of(part)) {
            continue;
        }
        for name in part.files().iter().chain([&statement_of(part)]).filter(|name| is_file(name)) {
            let (sha256, size_bytes) = folder.copy_to(name, &mut std::io::sink())?;
            found.push(Artifact { name: format!("{inside}/{name}"), sha256, size_bytes });
        }
    }
    Ok(found)
}

/// Returns the parts to render of `results`, whose recordings are below `folder`: those that `record` names and that do
/// not exist yet. Logs come first, and episodes with a violation before others.
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

/// Renders `parts` of `results` into `folder` on `lanes` threads until cancelled. Returns true if everything was
/// rendered.
pub fn render_parts(
    tools: DrawTools<'_>,
    job: &DrawJob<'_>,
    (folder, results): (&Path, &[EpisodeResult]),
    parts: Vec<(u32, RenderPart)>,
    (lanes, cancel): (usize, &Cancel),
    events: &dyn DrawEvents,
) -> bool {
    let failed = Cancel::new();
    // Logs come first: a video may use the space that its log leaves.
    let (logs, videos): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(_, part)| *part == RenderPart::Log);
    for parts in [logs, videos] {
        let queue = Mutex::new(VecDeque::from(parts));
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let work = || {
            while let Some((episode, part)) = next().filter(|_| !cancel.is_cancelled()) {
                let Some(result) = results.iter().find(|result| result.episode == episode) else { continue };
                let before = drawn_in(folder, episode).unwrap_or_default();
                let bytes = before.iter().map(|file| file.size_bytes).sum();
                let frames = |count| events.frames(episode, count);
                let (what, how) = ((result, part, bytes), (Urgency::Awaited, cancel, &frames as &dyn Fn(u32)));
                let place = UntrustedFolder::open(folder).and_then(|all| all.folder(evidence::folder_of(episode)));
                let outcome = place.map_err(RenderingError::Io).and_then(|place| draw(tools, job, what, &place, how));
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
