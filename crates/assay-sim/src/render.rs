//! Rendering of a world for videos and thumbnails: after the episode, from recorded states, in a separate process.

use mujoco_rs::renderer::MjRenderer;

use crate::opengl::opengl;
use crate::present::framing::Framing;
use crate::present::look::{self, Quality};
use crate::present::samples::{Sample, sample};
use crate::present::shapes::MAX_PARTS;
use crate::present::smooth::{clean, remove_dots};
use crate::present::{bowls, people};
use crate::{RenderError, Simulation};

/// A rendered frame: RGB, rows from the top, `3 * width * height` bytes.
pub type RgbImage = Vec<u8>;

/// A renderer of one scenario's worlds with its own OpenGL context. It must stay on the thread that created it.
#[derive(Debug)]
pub struct Renderer {
    renderer: MjRenderer,
    framing: Framing,
    width: usize,
    height: usize,
    quality: Quality,
}

impl Renderer {
    /// Creates a renderer of pictures that frame the world's start.
    ///
    /// # Errors
    /// [`RenderError`] if OpenGL is not available or the scenario's camera does not exist.
    pub fn new(
        simulation: &mut Simulation,
        (width, height): (u32, u32),
        quality: Quality,
    ) -> Result<Self, RenderError> {
        let framing = Framing::new(simulation, f64::from(width) / f64::from(height.max(1)))?;
        Self::framed(simulation, (width, height), quality, framing)
    }

    /// Creates a renderer of pictures with this framing.
    ///
    /// # Errors
    /// [`RenderError::Gl`] if OpenGL is not available.
    pub fn framed(
        simulation: &mut Simulation,
        (width, height): (u32, u32),
        quality: Quality,
        framing: Framing,
    ) -> Result<Self, RenderError> {
        if let Some((_, half_m)) = framing.shadowed(simulation) {
            let extent_m = simulation.model().stat().extent;
            look::limit_shadows(simulation.data_mut().model_vis_mut(), extent_m, half_m);
        }
        let model = simulation.data_mut().model();
        let (width, height) = (width as usize, height as usize);
        let renderer = MjRenderer::new(model, width, height, MAX_PARTS).map_err(|e| opengl(&e))?;
        Ok(Self { renderer, framing, width, height, quality })
    }

    /// Renders the current state of the world.
    ///
    /// # Errors
    /// [`RenderError::Gl`] if rendering fails.
    pub fn draw(&mut self, simulation: &mut Simulation) -> Result<RgbImage, RenderError> {
        let drawings = self.quality.drawings();
        let mut camera = self.framing.camera(simulation);
        let centred = camera.clone();
        let lights = simulation.data().light_xdir().to_vec();
        let shadowed = self.framing.shadowed(simulation);
        let mut sums = vec![0_u16; if drawings > 1 { 3 * self.width * self.height } else { 0 }];
        let mut picture = Vec::new();
        let parts = self.renderer.user_scene_mut();
        parts.clear_geom();
        people::complete(simulation, parts);
        bowls::complete(simulation, parts);
        for index in 0..drawings {
            let at = if drawings > 1 { sample(index) } else { Sample::default() };
            at.aim(&mut camera, &centred, simulation.model().vis().global.fovy, self.height);
            at.light(simulation, &lights, shadowed);
            self.renderer.set_camera(camera.clone());
            self.renderer.sync_data(simulation.data_mut()).map_err(|e| opengl(&e))?;
            self.renderer.render().map_err(|e| opengl(&e))?;
            let pixels = self.renderer.rgb_flat().ok_or_else(|| RenderError::Gl("no colour buffer".to_owned()))?;
            picture = pixels.to_vec();
            if drawings > 1 {
                remove_dots(&mut picture, self.width);
            }
            sums.iter_mut().zip(&picture).for_each(|(sum, value)| *sum += u16::from(*value));
        }
        // The next step of a simulation computes them again; the next picture may come before it.
        simulation.data_mut().light_xdir_mut().copy_from_slice(&lights);
        if drawings > 1 {
            let mean = |sum: &u16| u8::try_from((sum + drawings / 2) / drawings).unwrap_or(u8::MAX);
            picture = sums.iter().map(mean).collect();
        } else {
            clean(&mut picture, self.width);
        }
        Ok(picture)
    }
}
