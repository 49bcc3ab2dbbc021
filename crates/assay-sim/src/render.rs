//! Rendering of a world for videos and thumbnails: after the episode, from recorded states, in a separate process.

use mujoco_rs::renderer::MjRenderer;

use crate::opengl::opengl;
use crate::present::framing::Framing;
use crate::present::smooth::smooth;
use crate::{RenderError, Simulation};

/// A rendered frame: RGB, rows from the top, `3 * width * height` bytes.
pub type RgbImage = Vec<u8>;

/// A renderer of one scenario's worlds with its own OpenGL context. It must stay on the thread that created it.
#[derive(Debug)]
pub struct Renderer {
    renderer: MjRenderer,
    framing: Framing,
    width: usize,
    /// True if the model has one sample per pixel.
    smooths: bool,
}

impl Renderer {
    /// Creates a renderer of pictures that frame the world's start.
    ///
    /// # Errors
    /// [`RenderError`] if OpenGL is not available or the scenario's camera does not exist.
    pub fn new(simulation: &mut Simulation, width: u32, height: u32) -> Result<Self, RenderError> {
        let framing = Framing::new(simulation, f64::from(width) / f64::from(height.max(1)))?;
        Self::framed(simulation, width, height, framing)
    }

    /// Creates a renderer of pictures that are framed so.
    ///
    /// # Errors
    /// [`RenderError::Gl`] if OpenGL is not available.
    pub fn framed(simulation: &mut Simulation, width: u32, height: u32, framing: Framing) -> Result<Self, RenderError> {
        let model = simulation.data_mut().model();
        let renderer = MjRenderer::new(model, width as usize, height as usize, 0).map_err(|e| opengl(&e))?;
        let smooths = simulation.model().vis().quality.offsamples == 0;
        Ok(Self { renderer, framing, width: width as usize, smooths })
    }

    /// Renders the current state of the world.
    ///
    /// # Errors
    /// [`RenderError::Gl`] if rendering fails.
    pub fn draw(&mut self, simulation: &mut Simulation) -> Result<RgbImage, RenderError> {
        let camera = self.framing.camera(simulation);
        self.renderer.set_camera(camera);
        self.renderer.sync_data(simulation.data_mut()).map_err(|e| opengl(&e))?;
        self.renderer.render().map_err(|e| opengl(&e))?;
        let pixels = self.renderer.rgb_flat().ok_or_else(|| RenderError::Gl("no colour buffer".to_owned()))?;
        let mut picture = pixels.to_vec();
        if self.smooths {
            smooth(&mut picture, self.width);
        }
        Ok(picture)
    }
}
