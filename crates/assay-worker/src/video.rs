//! The video of a recorded episode: a short-lived renderer in a jail of its own.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_jail::{Profile, SpawnError, give_to_jail};
use assay_model::EpisodeResult;
use assay_model::lane::RenderJob;

use crate::evidence::{TRACE, VIDEO};
use crate::{Cancel, Engine, evidence};

/// Frames per simulated second.
const FPS: u32 = 25;
/// Pixels.
const SIZE: (u32, u32) = (640, 480);
/// A renderer that takes longer is killed.
const LIMIT: Duration = Duration::from_secs(300);
/// Tells the renderer what to draw.
const JOB: &str = "render.json";
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
}

/// Draws one frame of a built-in scenario in the jail, to see whether this machine can.
///
/// # Errors
/// What is missing.
pub fn check_rendering(engine: &Engine) -> Result<(), Box<dyn std::error::Error>> {
    let scenario = engine.library().scenarios().first().ok_or("there is no scenario")?;
    let staged = engine.staged(&scenario.folder)?;
    let scratch = engine.scratch("draw")?;
    give_to_jail(scratch.path())?;
    Ok(finish(engine, "draw", &staged, scratch.path(), &Cancel::new())?)
}

/// Runs a renderer to its end, or until nobody wants its picture any more.
fn finish(engine: &Engine, mode: &str, scenario: &Path, scratch: &Path, cancel: &Cancel) -> Result<(), VideoError> {
    let mut child = engine.jail().spawn(engine.lane_spec(Profile::Render, mode, scenario, scratch))?;
    let until = Instant::now() + LIMIT;
    let exit = loop {
        match child.wait_deadline(TICK) {
            Some(exit) => break exit,
            None if cancel.is_cancelled() || Instant::now() > until => break child.kill(),
            None => {}
        }
    };
    if exit.is_success() {
        return Ok(());
    }
    let log = String::from_utf8_lossy(&child.output_tail()).into_owned();
    Err(VideoError::Failed(format!("{exit:?} {}", assay_model::sanitise(&log, LOG_BYTES))))
}

/// Draws `folder/video.mp4` from `folder/trace.parquet`. The calling thread waits for the renderer.
pub(crate) fn render(
    engine: &Engine,
    scenario: &Path,
    folder: &Path,
    result: &EpisodeResult,
    world_seed: u64,
    cancel: &Cancel,
) -> Result<(), VideoError> {
    let scratch = engine.scratch("render")?;
    let inside = scratch.path();
    fs::copy(folder.join(TRACE), inside.join(TRACE))?;
    let job = RenderJob { result: result.clone(), world_seed, fps: FPS, width: SIZE.0, height: SIZE.1 };
    fs::write(inside.join(JOB), serde_json::to_vec(&job)?)?;
    give_to_jail(inside)?;
    finish(engine, "render", scenario, inside, cancel)?;
    Ok(evidence::take(inside, ".", VIDEO, folder)?)
}
