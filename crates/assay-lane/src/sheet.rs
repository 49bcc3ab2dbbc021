//! The process that renders a scenario's worlds: the starts of some of them, as one PNG.

use std::fs;
use std::io;

use assay_model::lane::{SheetJob, files};
use assay_sim::Quality;

use crate::load::load_to_draw;
use crate::png_image::write_png;
use crate::{EpisodeRenderError, Places};

/// Maximum side of one picture in pixels.
const MAX_SIDE: u32 = 1920;
/// Maximum number of pixels of the whole sheet.
const MAX_PIXELS: u64 = 64 << 20;

/// Renders the worlds that `sheet.json` names into `sheet.png`.
///
/// # Errors
/// [`EpisodeRenderError`] names the failure.
pub fn sheet(places: &Places) -> Result<(), EpisodeRenderError> {
    let text = fs::read(places.scratch.join(files::SHEET_JOB)).map_err(EpisodeRenderError::Job)?;
    let job: SheetJob = serde_json::from_slice(&text).map_err(|e| EpisodeRenderError::Senseless(e.to_string()))?;
    let count = u32::try_from(job.worlds.len()).unwrap_or(u32::MAX);
    let (columns, rows) = (job.columns, count.div_ceil(job.columns.max(1)));
    let sides = (1..=MAX_SIDE).contains(&job.width) && (1..=MAX_SIDE).contains(&job.height);
    let pixels = u64::from(columns) * u64::from(job.width) * u64::from(rows) * u64::from(job.height);
    if !sides || pixels == 0 || pixels > MAX_PIXELS {
        return Err(EpisodeRenderError::Senseless(format!("{count} pictures of {}x{}", job.width, job.height)));
    }
    let world = load_to_draw(places, (job.width, job.height), Quality::Still)?;
    let line = columns as usize * job.width as usize * 3;
    let mut picture = vec![0xff; line * rows as usize * job.height as usize];
    for (index, seed) in job.worlds.iter().enumerate() {
        let mut simulation = world.simulation(*seed).map_err(|e| EpisodeRenderError::Scenario(e.to_string()))?;
        // Each world needs its own renderer, which adopts the world's sizes when it is created.
        let frame = assay_sim::Renderer::new(&mut simulation, (job.width, job.height), Quality::Still)?
            .draw(&mut simulation)?;
        let (row, column) = (index / columns as usize, index % columns as usize);
        let width = job.width as usize * 3;
        for (y, pixels) in frame.chunks_exact(width).enumerate() {
            let at = (row * job.height as usize + y) * line + column * width;
            picture[at..at + width].copy_from_slice(pixels);
        }
    }
    let file = fs::File::create(places.scratch.join(files::SHEET)).map_err(EpisodeRenderError::Job)?;
    write_png(file, columns * job.width, rows * job.height, &picture)
        .map_err(|e| EpisodeRenderError::Job(io::Error::other(e)))
}
