//! The rendering process: writes a recorded episode's log or its images from its trace.

use std::fs;
use std::path::Path;

use assay_model::lane::{RenderJob, RenderPart, Rendered, files};
use assay_sim::{CompiledScenario, Framing, Quality, Simulation};

use crate::caption::caption;
use crate::framed::framed;
use crate::highlights::{clip_window, draw_still};
use crate::inset::Insets;
use crate::lettering::{Canvas, Lettering};
use crate::load::{load, load_to_draw};
use crate::log::{EpisodeLog, ImageLog};
use crate::observed_images::ObservedImages;
use crate::rerun::Rerun;
use crate::violation_track::ViolationTrack;
use crate::{EpisodeRenderError, Places, Trace, VideoWriter};

/// Maximum side of a frame in pixels.
const MAX_SIDE: u32 = 3840;
/// Maximum number of frames per simulated second.
const MAX_FPS: u32 = 100;

/// Renders a part of the episode in `places.scratch`: reads `render.json` and `trace.parquet`, writes `log.mcap`, or
/// the files in [`files::PICTURED`], and then `rendered.json`.
///
/// # Errors
/// [`EpisodeRenderError`] names the failure. Images that cannot be rendered, or are too large, are left out.
pub fn render(places: &Places) -> Result<(), EpisodeRenderError> {
    let job = read_job(&places.scratch)?;
    let trace = Trace::read(&places.scratch.join(files::TRACE))?;
    let rendered = match job.part {
        RenderPart::Log => {
            log(&load(places)?, &job, &trace, &places.scratch)?;
            Rendered::default()
        }
        RenderPart::Video => images(places, &job, &trace)?,
    };
    let text = serde_json::to_vec(&rendered).map_err(|e| EpisodeRenderError::Senseless(e.to_string()))?;
    fs::write(places.scratch.join(files::RENDERED), text).map_err(EpisodeRenderError::Job)
}

fn images(places: &Places, job: &RenderJob, trace: &Trace) -> Result<Rendered, EpisodeRenderError> {
    let world = load_to_draw(places, (job.width, job.height), Quality::Frame)?;
    let (seen, mut cameras_dropped) = observed_images(places, job, trace)?;
    let mut drawn = pictures(places, &world, job, trace, &seen);
    if matches!(drawn, Ok(false)) && !seen.images.is_empty() {
        // The policy's images have priority over the video.
        cameras_dropped = Some(too_many(job));
        drawn = pictures(places, &world, job, trace, &ObservedImages::default());
    }
    let images_dropped = match drawn {
        Ok(true) => None,
        Ok(false) => Some(too_many(job)),
        Err(EpisodeRenderError::Draw(error)) => {
            eprintln!("assay-lane: {error}");
            Some("they could not be rendered on this machine".to_owned())
        }
        Err(error) => return Err(error),
    };
    Ok(Rendered { images_dropped, cameras_dropped })
}

/// Writes the video, the clip, and the still if there is room for it; returns false if the images exceed the size
/// limit.
fn pictures(
    places: &Places,
    world: &CompiledScenario,
    job: &RenderJob,
    trace: &Trace,
    seen: &ObservedImages,
) -> Result<bool, EpisodeRenderError> {
    let framing = framed(world, job.world_seed, trace, f64::from(job.width) / f64::from(job.height))?;
    let Some(bytes) = draw(world, framing.clone(), job, trace, &places.scratch, seen)? else { return Ok(false) };
    draw_still(places, job, trace, framing, job.max_image_bytes.saturating_sub(bytes))?;
    Ok(true)
}

fn too_many(job: &RenderJob) -> String {
    format!("they would take more than the {} bytes left for them", job.max_image_bytes)
}

/// Returns the policy's images if it has cameras, or the reason for omitting them.
fn observed_images(
    places: &Places,
    job: &RenderJob,
    trace: &Trace,
) -> Result<(ObservedImages, Option<String>), EpisodeRenderError> {
    let world = load(places)?;
    if !world.scenario().has_images() {
        return Ok((ObservedImages::default(), None));
    }
    match ObservedImages::draw(&world, job.world_seed, trace, job.max_image_bytes) {
        Ok(Some(seen)) => Ok((seen, None)),
        Ok(None) => Ok((ObservedImages::default(), Some(too_many(job)))),
        Err(EpisodeRenderError::Draw(error)) => {
            eprintln!("assay-lane: {error}");
            Ok((ObservedImages::default(), Some("they could not be rendered on this machine".to_owned())))
        }
        Err(error) => Err(error),
    }
}

/// Returns true if `row` begins a control step.
fn begins(trace: &Trace, row: usize) -> bool {
    row == 0 || trace.control_step[row] != trace.control_step[row - 1]
}

/// Replays the episode and writes its log into `folder`.
fn log(world: &CompiledScenario, job: &RenderJob, trace: &Trace, folder: &Path) -> Result<(), EpisodeRenderError> {
    let mut rerun = Rerun::new(world, job.world_seed, trace)?;
    let path = folder.join(files::LOG);
    let mut log = EpisodeLog::create(&path, world.scenario(), &rerun.simulation, trace, &job.result)?;
    let mut control_step = 0;
    for row in 0..trace.rows() {
        rerun.step(row)?;
        if begins(trace, row) {
            log.begin(&rerun.simulation, row, control_step)?;
            control_step += 1;
        }
        log.step(&rerun.simulation, row)?;
        if row + 1 == trace.rows() || begins(trace, row + 1) {
            log.end(row)?;
        }
    }
    Ok(log.finish()?)
}

/// Replays the episode and writes its images into `folder`. Returns their size in bytes, or `None` as soon as they
/// exceed the size limit.
fn draw(
    world: &CompiledScenario,
    framing: Framing,
    job: &RenderJob,
    trace: &Trace,
    folder: &Path,
    seen: &ObservedImages,
) -> Result<Option<u64>, EpisodeRenderError> {
    let mut rerun = Rerun::new(world, job.world_seed, trace)?;
    let mut drawing = Drawing::start(&mut rerun.simulation, (world, framing), trace, job, folder, seen)?;
    let mut log = ImageLog::create(&folder.join(files::IMAGES), world.scenario(), trace, seen)?;
    for row in 0..trace.rows() {
        rerun.step(row)?;
        let (time_s, last) = (trace.columns[0][row], row + 1 == trace.rows());
        if begins(trace, row) {
            log.show(time_s)?;
        }
        if let Some(packet) = drawing.frame(&mut rerun.simulation, (row, time_s), last)? {
            log.frame(time_s, &packet)?;
            drawing.report_count(folder);
        }
        if drawing.size_bytes() + seen.bytes > job.max_image_bytes {
            return Ok(None);
        }
        if drawing.frames >= job.max_frames {
            break;
        }
    }
    log.finish()?;
    let bytes = drawing.size_bytes() + seen.bytes;
    drawing.finish()?;
    Ok(Some(bytes))
}

/// Renders frames at the video's rate.
struct Drawing<'a> {
    renderer: assay_sim::Renderer,
    lettering: Lettering,
    insets: Insets<'a>,
    video: VideoWriter,
    /// The clip around the worst moment, and the times that it shows.
    clip: Option<(VideoWriter, [f64; 2])>,
    job: &'a RenderJob,
    violations: ViolationTrack,
    scenario: String,
    next_s: f64,
    frames: u32,
}

impl<'a> Drawing<'a> {
    fn start(
        simulation: &mut Simulation,
        (world, framing): (&CompiledScenario, Framing),
        trace: &Trace,
        job: &'a RenderJob,
        folder: &Path,
        seen: &'a ObservedImages,
    ) -> Result<Self, EpisodeRenderError> {
        let renderer = assay_sim::Renderer::framed(simulation, (job.width, job.height), Quality::Frame, framing)?;
        let writer = |name: &str| VideoWriter::create(&folder.join(name), job.width, job.height, job.fps);
        let video = writer(files::VIDEO)?;
        let clip = match clip_window(&job.result) {
            Some(window) => Some((writer(files::CLIP)?, window)),
            None => None,
        };
        let (lettering, insets) = (Lettering::open()?, Insets::new(seen));
        let scenario = world.scenario().id.to_string();
        let violations = ViolationTrack::new(world.scenario(), trace, job.result.termination);
        Ok(Self { renderer, lettering, insets, video, clip, job, violations, scenario, next_s: 0.0, frames: 0 })
    }

    /// Returns the size so far in bytes. Each frame is stored in the video and in `images.mcap`.
    fn size_bytes(&self) -> u64 {
        2 * self.video.size_bytes() + self.clip.as_ref().map_or(0, |(clip, _)| clip.size_bytes())
    }

    /// Closes the files.
    fn finish(self) -> Result<(), EpisodeRenderError> {
        self.video.finish()?;
        if let Some((clip, _)) = self.clip {
            clip.finish()?;
        }
        Ok(())
    }

    /// Renders and encodes the frame at `time_s`, if one is due; the last row is always rendered.
    fn frame(
        &mut self,
        simulation: &mut Simulation,
        (row, time_s): (usize, f64),
        last: bool,
    ) -> Result<Option<Vec<u8>>, EpisodeRenderError> {
        if time_s + 1e-9 < self.next_s && !last {
            return Ok(None);
        }
        let mut frame = self.renderer.draw(simulation)?;
        let (width, height) = (self.job.width, self.job.height);
        self.insets.draw(&self.lettering, &mut Canvas { rgb: &mut frame, width, height }, time_s);
        let picture = (frame.as_mut_slice(), width, height);
        let caption_of_row = (time_s, self.violations.caption(row));
        caption(&self.lettering, picture, &self.scenario, &self.job.result, caption_of_row);
        self.next_s += 1.0 / f64::from(self.job.fps);
        self.frames += 1;
        if let Some((clip, [from_s, to_s])) = &mut self.clip
            && (*from_s..=*to_s).contains(&time_s)
        {
            clip.add(&frame)?;
        }
        Ok(Some(self.video.add(&frame)?))
    }

    /// Reports the number of frames so far. A failure to report is ignored.
    fn report_count(&self, folder: &Path) {
        drop(fs::write(folder.join(files::FRAMES), self.frames.to_string()));
    }
}

/// Renders the scenario's start once, to test that rendering works here.
///
/// # Errors
/// [`EpisodeRenderError`]; a picture of a single colour is an error too.
pub fn draw_once(places: &Places) -> Result<(), EpisodeRenderError> {
    const SIZE: (u32, u32) = (320, 240);
    let world = load_to_draw(places, SIZE, Quality::Frame)?;
    let mut simulation = world.simulation(0).map_err(|e| EpisodeRenderError::Scenario(e.to_string()))?;
    let mut renderer = assay_sim::Renderer::new(&mut simulation, SIZE, Quality::Frame)?;
    let frame = renderer.draw(&mut simulation)?;
    if frame.windows(2).all(|pair| pair[0] == pair[1]) {
        return Err(EpisodeRenderError::Blank);
    }
    Ok(())
}

fn read_job(scratch: &Path) -> Result<RenderJob, EpisodeRenderError> {
    let text = fs::read(scratch.join(files::RENDER_JOB)).map_err(EpisodeRenderError::Job)?;
    let job: RenderJob = serde_json::from_slice(&text).map_err(|e| EpisodeRenderError::Senseless(e.to_string()))?;
    let even = |side: u32| (16..=MAX_SIDE).contains(&side) && side.is_multiple_of(2);
    if !(even(job.width) && even(job.height) && (1..=MAX_FPS).contains(&job.fps)) {
        let message = format!("{}x{} at {} frames per second", job.width, job.height, job.fps);
        return Err(EpisodeRenderError::Senseless(message));
    }
    Ok(job)
}
