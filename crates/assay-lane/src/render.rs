//! The rendering process: draws a recorded episode from its trace, after the fact.

use std::fs;
use std::path::Path;

use assay_model::lane::{RenderJob, Rendered, files};

use crate::caption::caption;
use crate::step::{LoadError, load};
use crate::{Places, Trace, TraceFileError, VideoError, VideoWriter};

/// Largest side of a frame in pixels.
const MAX_SIDE: u32 = 1920;
/// Most frames per simulated second.
const MAX_FPS: u32 = 100;

/// Why there is no video.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The job's file can't be read, or the answer can't be written.
    #[error("the order or the answer")]
    Job(#[source] std::io::Error),
    /// The job makes no sense.
    #[error("an order that makes no sense: {0}")]
    Senseless(String),
    /// The trace can't be read.
    #[error(transparent)]
    Trace(#[from] TraceFileError),
    /// The scenario can't be loaded.
    #[error("the scenario: {0}")]
    Scenario(String),
    /// Drawing failed.
    #[error(transparent)]
    Draw(#[from] assay_sim::RenderError),
    /// OpenGL drew nothing.
    #[error("OpenGL drew an empty picture")]
    Blank,
    /// Encoding failed.
    #[error(transparent)]
    Video(#[from] VideoError),
}

impl From<LoadError> for RenderError {
    fn from(error: LoadError) -> Self {
        Self::Scenario(error.to_string())
    }
}

/// Draws the video of the episode in `places.scratch`: reads `render.json` and `trace.parquet`, writes `video.mp4` and
/// `rendered.json`.
///
/// # Errors
/// [`RenderError`] says what is missing.
pub fn render(places: &Places) -> Result<(), RenderError> {
    let job = read_job(&places.scratch)?;
    let trace = Trace::read(&places.scratch.join(files::TRACE))?;
    let video = places.scratch.join(files::VIDEO);
    let size = draw(places, &job, &trace, &video)?;
    let mut rendered = Rendered::default();
    if size > job.max_image_bytes {
        fs::remove_file(&video).map_err(RenderError::Job)?;
        let message = format!("its images take {size} bytes or more, over the limit of {}", job.max_image_bytes);
        rendered.images_dropped = Some(message);
    }
    let text = serde_json::to_vec(&rendered).map_err(|e| RenderError::Senseless(e.to_string()))?;
    fs::write(places.scratch.join(files::RENDERED), text).map_err(RenderError::Job)
}

/// Draws until the trace or the room for images ends; returns the bytes of images.
fn draw(places: &Places, job: &RenderJob, trace: &Trace, video: &Path) -> Result<u64, RenderError> {
    let world = load(places, job.width, job.height)?;
    let mut simulation = world.simulation(job.world_seed).map_err(|e| RenderError::Scenario(e.to_string()))?;
    let mut renderer = assay_sim::Renderer::new(&mut simulation, job.width, job.height)?;
    let mut video = VideoWriter::create(video, job.width, job.height, job.fps)?;
    let name = world.scenario().id.to_string();
    let time = trace.columns.first().ok_or(TraceFileError::Shape("no columns"))?;
    let qpos = trace.group("qpos");
    let mut next_s = 0.0;
    for (row, time_s) in time.iter().enumerate() {
        let last = row + 1 == time.len();
        if *time_s + 1e-9 < next_s && !last {
            continue;
        }
        simulation.pose(&qpos.iter().map(|column| column[row]).collect::<Vec<_>>());
        let mut frame = renderer.draw(&mut simulation)?;
        caption(&mut frame, (job.width, job.height), &name, &job.result, *time_s);
        video.add(&frame)?;
        if video.size_bytes() > job.max_image_bytes {
            break;
        }
        next_s += 1.0 / f64::from(job.fps);
    }
    let size = video.size_bytes();
    video.finish()?;
    Ok(size)
}

/// Draws the scenario's start once, which shows that drawing works here.
///
/// # Errors
/// [`RenderError`]; a picture of one colour is an error too.
pub fn draw_once(places: &Places) -> Result<(), RenderError> {
    const SIZE: (u32, u32) = (320, 240);
    let world = load(places, SIZE.0, SIZE.1)?;
    let mut simulation = world.simulation(0).map_err(|e| RenderError::Scenario(e.to_string()))?;
    let mut renderer = assay_sim::Renderer::new(&mut simulation, SIZE.0, SIZE.1)?;
    let frame = renderer.draw(&mut simulation)?;
    if frame.windows(2).all(|pair| pair[0] == pair[1]) {
        return Err(RenderError::Blank);
    }
    Ok(())
}

fn read_job(scratch: &Path) -> Result<RenderJob, RenderError> {
    let text = fs::read(scratch.join(files::RENDER_JOB)).map_err(RenderError::Job)?;
    let job: RenderJob = serde_json::from_slice(&text).map_err(|e| RenderError::Senseless(e.to_string()))?;
    let even = |side: u32| (16..=MAX_SIDE).contains(&side) && side.is_multiple_of(2);
    if !(even(job.width) && even(job.height) && (1..=MAX_FPS).contains(&job.fps)) {
        let message = format!("{}x{} at {} frames a second", job.width, job.height, job.fps);
        return Err(RenderError::Senseless(message));
    }
    Ok(job)
}
