//! Camera images in the observation, which are rendered for an observation, at most at the scenario's rate. Rendering
//! does not change the physics state.

use assay_scenario::Scenario;
use mujoco_rs::prelude::*;

use crate::error::WorldError;
use crate::handle::{self, Data};
use crate::opengl::RenderError;
use crate::render_profile::{ImageRenderer, Picture, RenderProfile};

/// Tolerance for the time at which an image is due, s, since times are sums of steps.
const TOLERANCE_S: f64 = 1e-9;

/// The cameras of an episode's observation, in the order of the scenario. They must stay on the thread that first
/// rendered an image.
pub(crate) struct Cameras {
    views: Vec<View>,
    renderer: ImageRenderer,
    control_hz: f64,
}

/// One camera and its last image.
struct View {
    picture: Picture,
    period_s: f64,
    /// Number of control steps between two images, if it determines when they are due.
    every_steps: Option<u32>,
    /// Number of images rendered.
    rendered: u32,
    pixels: Vec<u8>,
    depth: Vec<u8>,
}

impl Cameras {
    pub(crate) fn resolve(model: &MjModel, scenario: &Scenario) -> Result<Self, WorldError> {
        let mut views = Vec::new();
        for camera in scenario.cameras() {
            let index = handle::camera(model, &camera.camera, &format!("observation {:?}", camera.image_key()))?;
            let picture = Picture { camera: index, size: (camera.width, camera.height), depth: camera.depth };
            views.push(View {
                picture,
                period_s: 1.0 / camera.rate_hz,
                every_steps: camera.every_steps,
                rendered: 0,
                pixels: Vec::new(),
                depth: Vec::new(),
            });
        }
        let renderer = ImageRenderer::new(RenderProfile::of(scenario.render_profile));
        Ok(Self { views, renderer, control_hz: scenario.world.control_hz })
    }

    /// Renders the images that are due at the data's time; the kinematics must be up to date.
    pub(crate) fn render_due(&mut self, data: &mut Data) -> Result<(), RenderError> {
        let now_s = data.time();
        let Self { views, renderer, control_hz } = self;
        for view in views.iter_mut().filter(|view| view.is_due(now_s, *control_hz)) {
            renderer.draw(data, view.picture, &mut view.pixels, &mut view.depth)?;
            view.rendered += 1;
        }
        Ok(())
    }

    /// Returns the number of images that each camera has rendered so far, and its last one.
    pub(crate) fn images(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.views.iter().map(|view| (view.rendered, view.pixels.as_slice()))
    }

    /// Returns the last image of a camera once [`Self::render_due`] has been called: rows from the top, 3 bytes per
    /// pixel.
    pub(crate) fn image(&self, view: usize) -> &[u8] {
        &self.views[view].pixels
    }

    /// Returns the depth of the last image of a camera that has depth: rows from the top, little-endian float32.
    pub(crate) fn depth(&self, view: usize) -> &[u8] {
        &self.views[view].depth
    }
}

impl View {
    fn is_due(&self, now_s: f64, control_hz: f64) -> bool {
        match self.every_steps {
            // Counts control steps: at high rates, the rounding of summed times would delay images by a step.
            Some(steps) => (now_s * control_hz).round() >= f64::from(self.rendered) * f64::from(steps),
            None => now_s + TOLERANCE_S >= f64::from(self.rendered) * self.period_s,
        }
    }
}
