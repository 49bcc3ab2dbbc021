//! The framing of a recorded episode's pictures, known before the first of them is drawn.

use assay_sim::{CompiledScenario, Framing};

use crate::rerun::Rerun;
use crate::{EpisodeRenderError, Trace};

/// Maximum number of states that are looked at.
const MAX_LOOKS: usize = 400;

/// Replays the episode and returns the framing of pictures with `aspect` = width / height that show what matters from
/// its start to its end. Costs one more run of the physics, which is little compared with drawing the frames.
pub(crate) fn framed(
    world: &CompiledScenario,
    world_seed: u64,
    trace: &Trace,
    aspect: f64,
) -> Result<Framing, EpisodeRenderError> {
    let mut rerun = Rerun::new(world, world_seed, trace)?;
    let mut framing = Framing::new(&rerun.simulation, aspect)?;
    let every = trace.rows().div_ceil(MAX_LOOKS).max(1);
    for row in 0..trace.rows() {
        rerun.step(row)?;
        if row % every == 0 || row + 1 == trace.rows() {
            framing.include(&rerun.simulation);
        }
    }
    Ok(framing)
}
