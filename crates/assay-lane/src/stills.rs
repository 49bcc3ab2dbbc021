//! Renders pictures of a recorded episode at given times, without captions, for the second judge.

use std::fs;
use std::io;

use assay_model::lane::{StillsJob, files};
use assay_sim::Quality;

use crate::framed::framed;
use crate::load::load_to_draw;
use crate::png_image::write_png;
use crate::rerun::Rerun;
use crate::{EpisodeRenderError, Places, Trace};

/// Maximum number of pictures.
const MAX_STILLS: usize = 64;
/// Maximum side in pixels.
const MAX_SIDE: u32 = 1920;

/// Renders the pictures that `stills.json` names from `trace.parquet`: `still-00.png` and so on.
///
/// # Errors
/// [`EpisodeRenderError`] names the failure.
pub fn stills(places: &Places) -> Result<(), EpisodeRenderError> {
    let text = fs::read(places.scratch.join(files::STILLS_JOB)).map_err(EpisodeRenderError::Job)?;
    let job: StillsJob = serde_json::from_slice(&text).map_err(|e| EpisodeRenderError::Senseless(e.to_string()))?;
    let sides = (1..=MAX_SIDE).contains(&job.width) && (1..=MAX_SIDE).contains(&job.height);
    if !sides || job.times_s.len() > MAX_STILLS {
        let message = format!("{} pictures of {}x{}", job.times_s.len(), job.width, job.height);
        return Err(EpisodeRenderError::Senseless(message));
    }
    let trace = Trace::read(&places.scratch.join(files::TRACE))?;
    let world = load_to_draw(places, (job.width, job.height), Quality::Still)?;
    let mut rerun = Rerun::new(&world, job.world_seed, &trace)?;
    let framing = framed(&world, job.world_seed, &trace, f64::from(job.width) / f64::from(job.height))?;
    let mut renderer =
        assay_sim::Renderer::framed(&mut rerun.simulation, (job.width, job.height), Quality::Still, framing)?;
    let rows: Vec<usize> = job.times_s.iter().map(|time_s| trace.row_at(*time_s).unwrap_or(0)).collect();
    for row in 0..=rows.iter().copied().max().unwrap_or(0).min(trace.rows().saturating_sub(1)) {
        rerun.step(row)?;
        for index in (0..rows.len()).filter(|index| rows[*index] == row) {
            let frame = renderer.draw(&mut rerun.simulation)?;
            let file = fs::File::create(places.scratch.join(files::still(index))).map_err(EpisodeRenderError::Job)?;
            write_png(file, job.width, job.height, &frame).map_err(|e| EpisodeRenderError::Job(io::Error::other(e)))?;
        }
    }
    Ok(())
}
