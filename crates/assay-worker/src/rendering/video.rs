//! Log and video of a recorded episode, written by a short-lived renderer in a separate jail.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assay_jail::{Child, Profile, SpawnError, WorkEnd, WorkLimit, give_to_jail};
use assay_model::lane::{RenderJob, RenderPart, Rendered, files};
use assay_model::{Artifact, EpisodeResult, ErrorChain};

use crate::engine::Staged;
use crate::episode::evidence;
use crate::rendering::video_format::{MAX_FRAMES, VideoFormat};
use crate::scenario_check::examine_limits::ExamineLimits;
use crate::work::{WorkOutcome, finished};
use crate::{Cancel, Engine};

/// Limits of a short process that examines a scenario or a recording.
const SHORT: WorkLimit = WorkLimit::new(Duration::from_secs(600), Duration::from_secs(60));
/// Maximum time for which a renderer may sleep. Its CPU time is limited by its jail ([`assay_jail::ProcessLimits`]).
const HANGS: Duration = Duration::from_secs(300);
/// Niceness of a background renderer.
const LAST: i32 = 19;
/// Maximum size of a renderer's answer, in bytes.
const ANSWER_BYTES: u64 = 64 * 1024;
/// Maximum size of the frame count, in bytes.
const COUNT_BYTES: u64 = 16;
/// Maximum length of the renderer's log in an error, in bytes.
const LOG_BYTES: usize = 1000;

/// An error of a renderer.
#[derive(Debug, thiserror::Error)]
pub enum RendererError {
    /// The process could not be started.
    #[error("could not start a renderer")]
    Spawn(#[from] SpawnError),
    /// Its input or output could not be read or written.
    #[error("could not read or write the renderer's files")]
    Io(#[from] std::io::Error),
    /// Its input could not be encoded.
    #[error("could not encode the renderer's request")]
    Json(#[from] serde_json::Error),
    /// It ended with this message.
    #[error("the renderer failed: {0}")]
    Failed(String),
    /// It exceeded one of these limits.
    #[error("the renderer was ended: {}", .0.describe(.1))]
    OverLimit(WorkEnd, WorkLimit),
    /// The job was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// The urgency of a rendering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// A verdict or a user waits for it.
    Awaited,
    /// Everything else has priority.
    Background,
}

/// Renders one frame of a built-in scenario in the jail, to test whether this machine can render.
///
/// # Errors
/// Names the missing component.
pub fn check_rendering(engine: &Engine) -> Result<(), Box<dyn std::error::Error>> {
    let scenario = engine.library().scenarios().first().ok_or("there is no scenario")?;
    let staged = engine.staged(scenario)?;
    // Covers both kinds of rendering: videos by a renderer, camera images by a stepping lane.
    for profile in [Profile::Render, Profile::StepWithCameras] {
        let scratch = engine.scratch("draw")?;
        give_to_jail(scratch.path())?;
        let mut spec = engine.lane_spec(profile, "draw", &staged, scratch.path());
        // This frame is never shown, and most of its time would go into optimised shaders.
        spec.env.push(("GALLIVM_PERF".into(), "nopt".into()));
        let child = engine.jail().spawn(spec)?;
        watch(child, SHORT, &Cancel::new(), &|| ()).map_err(|error| format!("{profile:?}: {}", ErrorChain(&error)))?;
    }
    Ok(())
}

/// Runs a lane program in mode `mode` to its end, or until its result is no longer wanted.
pub(crate) fn finish(
    engine: &Engine,
    mode: &str,
    staged: &Staged,
    scratch: &Path,
    cancel: &Cancel,
) -> Result<(), RendererError> {
    let spec = engine.lane_spec(Profile::Render, mode, staged, scratch);
    watch(engine.jail().spawn(spec)?, SHORT, cancel, &|| ())
}

/// Like [`finish`], with the caller's limits.
pub(crate) fn finish_within(
    engine: &Engine,
    mode: &str,
    staged: &Staged,
    scratch: &Path,
    limits: ExamineLimits,
) -> Result<(), RendererError> {
    let mut spec = engine.lane_spec(Profile::Render, mode, staged, scratch);
    limits.put(&mut spec);
    watch(engine.jail().spawn(spec)?, limits.work, &Cancel::new(), &|| ())
}

/// The output of a renderer.
#[derive(Debug)]
pub(crate) struct RenderOutput {
    /// File names without folders.
    pub(crate) files: Vec<Artifact>,
    /// The missing files, with reasons.
    pub(crate) notes: Vec<String>,
}

/// A rendering to run.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    pub(crate) staged: &'a Staged,
    /// The episode's folder, with its trace.
    pub(crate) folder: &'a Path,
    pub(crate) result: &'a EpisodeResult,
    pub(crate) world_seed: u64,
    /// Size and frame rate of the video; those of the engine by default.
    pub(crate) format: Option<VideoFormat>,
    /// Maximum size of the images in bytes.
    pub(crate) max_image_bytes: u64,
}

/// Renders a part into `folder`, from `folder/trace.parquet`. The calling thread waits for the renderer.
pub(crate) fn render(
    engine: &Engine,
    recording: &Recording<'_>,
    part: RenderPart,
    (urgency, cancel, drawn): (Urgency, &Cancel, &dyn Fn(u32)),
) -> Result<RenderOutput, RendererError> {
    let scratch = engine.scratch("render")?;
    let inside = scratch.path();
    fs::copy(recording.folder.join(files::TRACE), inside.join(files::TRACE))?;
    let format = recording.format.unwrap_or_else(|| engine.video_format());
    let (fps, _) = format.frames(recording.result.sim_time_s);
    let (width, height) = format.size();
    let job = RenderJob {
        part,
        result: recording.result.clone(),
        world_seed: recording.world_seed,
        fps,
        width,
        height,
        max_image_bytes: recording.max_image_bytes,
        max_frames: MAX_FRAMES,
    };
    fs::write(inside.join(files::RENDER_JOB), serde_json::to_vec(&job)?)?;
    give_to_jail(inside)?;
    let mut spec = engine.lane_spec(Profile::Render, "render", recording.staged, inside);
    if urgency == Urgency::Background {
        spec.nice = LAST;
    }
    let limit = WorkLimit::new(Duration::from_secs(spec.limits.cpu_s), HANGS);
    let mut child = engine.jail().spawn(spec)?;
    if urgency == Urgency::Background {
        // Uses a control group where the kernel offers one, in addition to niceness.
        child.lower_priority();
    }
    watch(child, limit, cancel, &|| drawn(read_count(inside)))?;
    let answer: Rendered = serde_json::from_slice(&evidence::read(inside, files::RENDERED, ANSWER_BYTES)?)?;
    let clean = |why: &String| assay_model::sanitise(why, LOG_BYTES);
    let seen = answer.cameras_dropped.as_ref();
    let seen = seen.map(|why| format!("what the policy's cameras saw was left out: {}", clean(why)));
    let left_out = answer.images_dropped.as_ref().map(|why| format!("images were left out: {}", clean(why)));
    let names: &[&str] = match (part, &left_out) {
        (RenderPart::Video, Some(_)) => &[],
        _ => part.files(),
    };
    let is_there = |name: &&&str| !files::OPTIONAL.contains(*name) || inside.join(name).exists();
    let files = names.iter().filter(is_there).map(|name| evidence::take(inside, ".", name, recording.folder));
    Ok(RenderOutput { files: files.collect::<Result<_, _>>()?, notes: seen.into_iter().chain(left_out).collect() })
}

/// Returns the number of frames rendered so far, as reported by the renderer.
fn read_count(inside: &Path) -> u32 {
    let text = evidence::read(inside, files::FRAMES, COUNT_BYTES).unwrap_or_default();
    String::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Waits for a process's end, or kills it when it is no longer wanted or exceeds its limits.
fn watch(mut child: Child, limit: WorkLimit, cancel: &Cancel, on_poll: &dyn Fn()) -> Result<(), RendererError> {
    let exit = match finished(&mut child, limit, cancel, on_poll)? {
        WorkOutcome::Ended(exit) => exit,
        WorkOutcome::OverLimit(end) => return Err(RendererError::OverLimit(end, limit)),
        WorkOutcome::Cancelled => return Err(RendererError::Cancelled),
    };
    if exit.is_success() {
        return Ok(());
    }
    let log = String::from_utf8_lossy(&child.output_tail()).into_owned();
    Err(RendererError::Failed(format!("{exit} {}", assay_model::sanitise(&log, LOG_BYTES))))
}
