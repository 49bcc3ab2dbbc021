//! The video of a recorded episode: a short-lived renderer in a jail of its own.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_jail::{Profile, SpawnError, Spec, give_to_jail};
use assay_model::lane::{RenderJob, Rendered, files};
use assay_model::{Artifact, EpisodeResult};

use crate::examine::ExamineLimits;
use crate::{Cancel, Engine, evidence};

/// Frames per simulated second.
const FPS: u32 = 25;
/// Pixels.
const SIZE: (u32, u32) = (640, 480);
/// A renderer that takes longer is killed.
const LIMIT: Duration = Duration::from_secs(300);
/// Longest answer of a renderer, in bytes.
const ANSWER_BYTES: u64 = 64 * 1024;
/// How often a waiting worker looks at its cancel flag.
const TICK: Duration = Duration::from_millis(50);
/// Longest part of the renderer's log in an error, in bytes.
const LOG_BYTES: usize = 1000;

/// Why there is no video. The evaluation goes on without it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VideoError {
    #[error("a renderer can't be started")]
    Spawn(#[from] SpawnError),
    #[error("a renderer's files")]
    Io(#[from] std::io::Error),
    #[error("the renderer's order")]
    Json(#[from] serde_json::Error),
    #[error("the renderer failed: {0}")]
    Failed(String),
    #[error("the renderer did not end within {0:?}")]
    TooLong(Duration),
}

/// Draws one frame of a built-in scenario in the jail, to see whether this machine can.
///
/// # Errors
/// What is missing.
pub fn check_rendering(engine: &Engine) -> Result<(), Box<dyn std::error::Error>> {
    let scenario = engine.library().scenarios().first().ok_or("there is no scenario")?;
    let staged = engine.staged(&scenario.folder)?;
    // As a renderer draws videos, and as a stepping lane draws what its cameras see.
    for profile in [Profile::Render, Profile::StepWithCameras] {
        let scratch = engine.scratch("draw")?;
        give_to_jail(scratch.path())?;
        finish_in(engine, profile, "draw", (&staged, scratch.path()), &Cancel::new())
            .map_err(|error| format!("{profile:?}: {error}"))?;
    }
    Ok(())
}

/// Runs a lane program in mode `mode` to its end, or until nobody wants its work any more.
pub(crate) fn finish(
    engine: &Engine,
    mode: &str,
    scenario: &Path,
    scratch: &Path,
    cancel: &Cancel,
) -> Result<(), VideoError> {
    finish_in(engine, Profile::Render, mode, (scenario, scratch), cancel)
}

/// As [`finish`], with limits of the caller's.
pub(crate) fn finish_within(
    engine: &Engine,
    mode: &str,
    scenario: &Path,
    scratch: &Path,
    limits: ExamineLimits,
) -> Result<(), VideoError> {
    let mut spec = engine.lane_spec(Profile::Render, mode, scenario, scratch);
    limits.put(&mut spec);
    wait(engine, spec, &Cancel::new(), limits.wall)
}

fn finish_in(
    engine: &Engine,
    profile: Profile,
    mode: &str,
    (scenario, scratch): (&Path, &Path),
    cancel: &Cancel,
) -> Result<(), VideoError> {
    wait(engine, engine.lane_spec(profile, mode, scenario, scratch), cancel, LIMIT)
}

fn wait(engine: &Engine, spec: Spec, cancel: &Cancel, limit: Duration) -> Result<(), VideoError> {
    let mut child = engine.jail().spawn(spec)?;
    let until = Instant::now() + limit;
    let exit = loop {
        match child.wait_deadline(TICK) {
            Some(exit) => break exit,
            None if cancel.is_cancelled() => break child.kill(),
            None if Instant::now() > until => {
                child.kill();
                return Err(VideoError::TooLong(limit));
            }
            None => {}
        }
    };
    if exit.is_success() {
        return Ok(());
    }
    let log = String::from_utf8_lossy(&child.output_tail()).into_owned();
    Err(VideoError::Failed(format!("{exit:?} {}", assay_model::sanitise(&log, LOG_BYTES))))
}

/// What a renderer wrote.
#[derive(Debug)]
pub(crate) struct Written {
    /// Named by their files alone.
    pub(crate) files: Vec<Artifact>,
    /// What is missing, and why.
    pub(crate) notes: Vec<String>,
}

/// What to draw.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    /// The scenario's folder where jails can read it.
    pub(crate) scenario: &'a Path,
    /// The episode's folder, with its trace.
    pub(crate) folder: &'a Path,
    pub(crate) result: &'a EpisodeResult,
    pub(crate) world_seed: u64,
    /// Most bytes of images.
    pub(crate) max_image_bytes: u64,
}

/// Writes `folder/log.mcap` and `folder/video.mp4` from `folder/trace.parquet`. The calling thread waits for the renderer.
pub(crate) fn render(engine: &Engine, recording: &Recording<'_>, cancel: &Cancel) -> Result<Written, VideoError> {
    let scratch = engine.scratch("render")?;
    let inside = scratch.path();
    fs::copy(recording.folder.join(files::TRACE), inside.join(files::TRACE))?;
    let job = RenderJob {
        result: recording.result.clone(),
        world_seed: recording.world_seed,
        fps: FPS,
        width: SIZE.0,
        height: SIZE.1,
        max_image_bytes: recording.max_image_bytes,
    };
    fs::write(inside.join(files::RENDER_JOB), serde_json::to_vec(&job)?)?;
    give_to_jail(inside)?;
    finish(engine, "render", recording.scenario, inside, cancel)?;
    let answer: Rendered = serde_json::from_slice(&evidence::read(inside, files::RENDERED, ANSWER_BYTES)?)?;
    let clean = |why: &String| assay_model::sanitise(why, LOG_BYTES);
    let seen = answer.cameras_dropped.as_ref();
    let seen = seen.map(|why| format!("what the policy's cameras saw was left out of the log: {}", clean(why)));
    let drawn = answer.images_dropped.as_ref().map(|why| format!("images were left out: {}", clean(why)));
    let names = if drawn.is_some() { &[files::LOG][..] } else { &[files::LOG, files::VIDEO] };
    let files = names.iter().map(|name| evidence::take(inside, ".", name, recording.folder));
    Ok(Written { files: files.collect::<Result<_, _>>()?, notes: seen.into_iter().chain(drawn).collect() })
}
