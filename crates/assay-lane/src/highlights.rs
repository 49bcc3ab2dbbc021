//! The worst moment of an episode: a picture of it, and the time that a clip shows.

use std::fs;

use assay_model::EpisodeResult;
use assay_model::lane::{RenderJob, files};
use assay_sim::{Framing, Quality, Renderer};

use crate::caption::caption;
use crate::lettering::Lettering;
use crate::load::load_to_draw;
use crate::png_image::encode_png;
use crate::rerun::Rerun;
use crate::violation_track::ViolationTrack;
use crate::{EpisodeRenderError, Places, Trace};

/// Time of a clip before and after the worst moment, in s: long enough to see what led to it.
const AROUND_S: [f64; 2] = [1.5, 1.0];
/// Width of the picture in pixels.
const WIDTH: u32 = 1280;

/// Returns the first and last time of a clip around the worst moment, in s; `None` if no clause was violated.
pub(crate) fn clip_window(result: &EpisodeResult) -> Option<[f64; 2]> {
    let (_, worst_s) = result.worst_moment()?;
    Some([(worst_s - AROUND_S[0]).max(0.0), worst_s + AROUND_S[1]])
}

/// Draws the worst moment of the episode, or its end if no clause was violated, into the scratch folder, in the framing
/// of the video. Leaves it out if it has more than `max_bytes`.
pub(crate) fn draw_still(
    places: &Places,
    job: &RenderJob,
    trace: &Trace,
    framing: Framing,
    max_bytes: u64,
) -> Result<(), EpisodeRenderError> {
    let size = (WIDTH, (WIDTH * job.height / job.width).max(16));
    let time_s = job.result.worst_moment().map_or(f64::INFINITY, |(_, time_s)| time_s);
    let world = load_to_draw(places, size, Quality::Still)?;
    let mut rerun = Rerun::new(&world, job.world_seed, trace)?;
    let mut renderer = Renderer::framed(&mut rerun.simulation, size, Quality::Still, framing)?;
    let Some(last) = trace.row_at(time_s) else { return Ok(()) };
    (0..=last).try_for_each(|row| rerun.step(row))?;
    let mut picture = renderer.draw(&mut rerun.simulation)?;
    let scenario = world.scenario().id.to_string();
    let canvas = (picture.as_mut_slice(), size.0, size.1);
    let violation = ViolationTrack::new(world.scenario(), trace, job.result.termination).caption(last);
    caption(&Lettering::open()?, canvas, &scenario, &job.result, (trace.columns[0][last], violation));
    let png = encode_png(size.0, size.1, &picture)?;
    if png.len() as u64 <= max_bytes {
        fs::write(places.scratch.join(files::STILL), png).map_err(EpisodeRenderError::Job)?;
    }
    Ok(())
}
