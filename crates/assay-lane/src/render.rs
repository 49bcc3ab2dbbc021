//! The rendering process: writes a recorded episode's log and images from its trace, after the fact.

use std::fs;
use std::path::Path;

use assay_model::lane::{RenderJob, Rendered, files};
use assay_sim::{Simulation, World};

use crate::caption::caption;
use crate::log::EpisodeLog;
use crate::rerun::Rerun;
use crate::seen::Seen;
use crate::step::{LoadError, load, load_to_draw};
use crate::{LogError, Places, RerunError, Trace, TraceFileError, VideoError, VideoWriter};

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
    /// The recording could not be run again.
    #[error(transparent)]
    Rerun(#[from] RerunError),
    /// The log could not be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Encoding failed.
    #[error(transparent)]
    Video(#[from] VideoError),
}

impl From<LoadError> for RenderError {
    fn from(error: LoadError) -> Self {
        Self::Scenario(error.to_string())
    }
}

/// Writes log and images of the episode in `places.scratch`: reads `render.json` and `trace.parquet`, writes `log.mcap`,
/// `video.mp4` and `rendered.json`.
///
/// # Errors
/// [`RenderError`] says what is missing. Images that can't be drawn, or are too large, are left out.
pub fn render(places: &Places) -> Result<(), RenderError> {
    let job = read_job(&places.scratch)?;
    let trace = Trace::read(&places.scratch.join(files::TRACE))?;
    let world = load_to_draw(places, job.width, job.height)?;
    let (seen, mut cameras_dropped) = look(places, &job, &trace)?;
    let pass = |images: bool, seen: &Seen| write(&world, &job, &trace, &places.scratch, (images, seen));
    let mut first = pass(true, &seen);
    if matches!(first, Ok(false)) && !seen.images.is_empty() {
        // What the policy saw goes before what people look at.
        cameras_dropped = Some(too_many(&job));
        first = pass(true, &Seen::default());
    }
    let images_dropped = match first {
        Ok(true) => None,
        Ok(false) => Some(too_many(&job)),
        Err(RenderError::Draw(error)) => {
            eprintln!("assay-lane: {error}");
            Some("they could not be drawn on this machine".to_owned())
        }
        Err(error) => return Err(error),
    };
    if images_dropped.is_some() {
        pass(false, &Seen::default())?;
    }
    let text = serde_json::to_vec(&Rendered { images_dropped, cameras_dropped })
        .map_err(|e| RenderError::Senseless(e.to_string()))?;
    fs::write(places.scratch.join(files::RENDERED), text).map_err(RenderError::Job)
}

fn too_many(job: &RenderJob) -> String {
    format!("they would take more than the {} bytes left for them", job.max_image_bytes)
}

/// What the policy saw, if it has eyes, or why that is left out.
fn look(places: &Places, job: &RenderJob, trace: &Trace) -> Result<(Seen, Option<String>), RenderError> {
    let world = load(places)?;
    if !world.scenario().has_images() {
        return Ok((Seen::default(), None));
    }
    match Seen::draw(&world, job.world_seed, trace, job.max_image_bytes) {
        Ok(Some(seen)) => Ok((seen, None)),
        Ok(None) => Ok((Seen::default(), Some(too_many(job)))),
        Err(RenderError::Draw(error)) => {
            eprintln!("assay-lane: {error}");
            Ok((Seen::default(), Some("they could not be drawn on this machine".to_owned())))
        }
        Err(error) => Err(error),
    }
}

/// Runs the episode again and writes its files into `folder`; false as soon as there are too many bytes of images.
fn write(
    world: &World,
    job: &RenderJob,
    trace: &Trace,
    folder: &Path,
    (images, seen): (bool, &Seen),
) -> Result<bool, RenderError> {
    let mut rerun = Rerun::new(world, job.world_seed, trace)?;
    let mut drawing = if images { Some(Drawing::start(&mut rerun.simulation, world, job, folder)?) } else { None };
    let path = folder.join(files::LOG);
    let mut log = EpisodeLog::create(&path, world.scenario(), &rerun.simulation, trace, (&job.result, seen))?;
    let mut control_step = 0;
    for row in 0..trace.rows() {
        rerun.step(row)?;
        if row == 0 || trace.control_step[row] != trace.control_step[row - 1] {
            log.begin(&rerun.simulation, row, control_step)?;
            control_step += 1;
        }
        log.step(&rerun.simulation, row)?;
        let last = row + 1 == trace.rows();
        if let Some(drawing) = &mut drawing {
            let time_s = trace.columns[0][row];
            if let Some(packet) = drawing.frame(&mut rerun.simulation, time_s, last)? {
                log.frame(time_s, &packet)?;
            }
            // Each stands in the video and in the log.
            if 2 * drawing.video.size_bytes() + seen.bytes > job.max_image_bytes {
                return Ok(false);
            }
        }
        if last || trace.control_step[row + 1] != trace.control_step[row] {
            log.end(row)?;
        }
    }
    log.finish()?;
    drawing.map_or(Ok(()), |drawing| drawing.video.finish())?;
    Ok(true)
}

/// Draws frames at the video's rate.
struct Drawing<'a> {
    renderer: assay_sim::Renderer,
    video: VideoWriter,
    job: &'a RenderJob,
    scenario: String,
    next_s: f64,
}

impl<'a> Drawing<'a> {
    fn start(
        simulation: &mut Simulation,
        world: &World,
        job: &'a RenderJob,
        folder: &Path,
    ) -> Result<Self, RenderError> {
        let renderer = assay_sim::Renderer::new(simulation, job.width, job.height)?;
        let video = VideoWriter::create(&folder.join(files::VIDEO), job.width, job.height, job.fps)?;
        Ok(Self { renderer, video, job, scenario: world.scenario().id.to_string(), next_s: 0.0 })
    }

    /// The frame at `time_s`, encoded, if one is due; the last row is always drawn.
    fn frame(&mut self, simulation: &mut Simulation, time_s: f64, last: bool) -> Result<Option<Vec<u8>>, RenderError> {
        if time_s + 1e-9 < self.next_s && !last {
            return Ok(None);
        }
        let mut frame = self.renderer.draw(simulation)?;
        caption(&mut frame, (self.job.width, self.job.height), &self.scenario, &self.job.result, time_s);
        self.next_s += 1.0 / f64::from(self.job.fps);
        Ok(Some(self.video.add(&frame)?))
    }
}

/// Draws the scenario's start once, which shows that drawing works here.
///
/// # Errors
/// [`RenderError`]; a picture of one colour is an error too.
pub fn draw_once(places: &Places) -> Result<(), RenderError> {
    const SIZE: (u32, u32) = (320, 240);
    let world = load_to_draw(places, SIZE.0, SIZE.1)?;
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
