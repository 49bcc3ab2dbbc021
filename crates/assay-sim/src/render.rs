//! Rendering of a world for videos and thumbnails: after the episode, from recorded states, in a separate process.

use mujoco_rs::prelude::*;
use mujoco_rs::renderer::MjRenderer;

use crate::opengl::opengl;
use crate::{RenderError, Simulation, handle};

/// A rendered frame: RGB, rows from the top, `3 * width * height` bytes.
pub type RgbImage = Vec<u8>;

/// A renderer of one scenario's worlds with its own OpenGL context. It must stay on the thread that created it.
#[derive(Debug)]
pub struct Renderer(MjRenderer);

impl Renderer {
    /// Creates a renderer for the scenario's camera, or for a free camera if the scenario has none.
    ///
    /// # Errors
    /// [`RenderError`] if OpenGL is not available or the camera does not exist.
    pub fn new(simulation: &mut Simulation, width: u32, height: u32) -> Result<Self, RenderError> {
        let name = simulation.camera();
        let model = simulation.data_mut().model();
        let camera = match name {
            None => MjvCamera::new_free(model),
            Some(name) => {
                let id = handle::camera(model, &name, "camera.name").map_err(|e| RenderError::Camera(e.to_string()))?;
                MjvCamera::new_fixed(id)
            }
        };
        let renderer = MjRenderer::new(model, width as usize, height as usize, 0).map_err(|e| opengl(&e))?;
        Ok(Self(renderer.with_camera(camera)))
    }

    /// Renders the current state of the world.
    ///
    /// # Errors
    /// [`RenderError::Gl`] if rendering fails.
    pub fn draw(&mut self, simulation: &mut Simulation) -> Result<RgbImage, RenderError> {
        self.0.sync_data(simulation.data_mut()).map_err(|e| opengl(&e))?;
        self.0.render().map_err(|e| opengl(&e))?;
        self.0.rgb_flat().map(<[u8]>::to_vec).ok_or_else(|| RenderError::Gl("no colour buffer".to_owned()))
    }
}
