//! The images of a policy's observations, rendered again from the recording, each with the time at which it was first
//! observed.

use assay_scenario::ObservedCamera;
use assay_sim::CompiledScenario;

use crate::png_image::encode_png;
use crate::rerun::Rerun;
use crate::{EpisodeRenderError, Trace};

/// An image.
#[derive(Debug)]
pub(crate) struct SeenImage {
    /// Simulated time in s.
    pub(crate) time_s: f64,
    /// Index in [`ObservedImages::cameras`].
    pub(crate) camera: usize,
    pub(crate) png: Vec<u8>,
}

/// All images of an episode, in chronological order.
#[derive(Debug, Default)]
pub(crate) struct ObservedImages {
    pub(crate) cameras: Vec<ObservedCamera>,
    pub(crate) images: Vec<SeenImage>,
    pub(crate) bytes: u64,
}

impl ObservedImages {
    /// Replays the episode in `world`, which must have been built for stepping: it is rendered as for the policy.
    /// Returns `None` as soon as there are more than `max_bytes`.
    pub(crate) fn draw(
        world: &CompiledScenario,
        world_seed: u64,
        trace: &Trace,
        max_bytes: u64,
    ) -> Result<Option<Self>, EpisodeRenderError> {
        let mut rerun = Rerun::new(world, world_seed, trace)?;
        let mut seen = Self { cameras: world.scenario().cameras(), ..Self::default() };
        let mut counts = vec![0; seen.cameras.len()];
        let mut observation = Vec::new();
        for row in 0..trace.rows() {
            if row == 0 || trace.control_step[row] != trace.control_step[row - 1] {
                observation.clear();
                rerun.simulation.observe(&mut observation)?;
                for (camera, (count, pixels)) in rerun.simulation.images().enumerate() {
                    if count > counts[camera] {
                        counts[camera] = count;
                        let ObservedCamera { width, height, .. } = seen.cameras[camera];
                        let png = encode_png(width, height, pixels)?;
                        seen.bytes += png.len() as u64;
                        seen.images.push(SeenImage { time_s: trace.columns[0][row], camera, png });
                    }
                }
                if seen.bytes > max_bytes {
                    return Ok(None);
                }
            }
            rerun.step(row)?;
        }
        Ok(Some(seen))
    }
}
