//! Camera images in the observation, which are rendered for an observation, at most at the scenario's rate. Rendering
//! does not change the physics state.

use assay_scenario::{IMAGE_SIDE, ObservationKind, Scenario};
use mujoco_rs::prelude::*;
use mujoco_rs::renderer::MjRenderer;

use crate::error::WorldError;
use crate::handle::{self, Data};
use crate::opengl::{RenderError, opengl};

/// Tolerance for the time at which an image is due, s, since times are sums of steps.
const TOLERANCE_S: f64 = 1e-9;

/// The cameras of an episode's observation, in the order of the scenario. They must stay on the thread that first
/// rendered an image.
pub(crate) struct Cameras {
    views: Vec<View>,
    /// Created when the first image is rendered, so that OpenGL is not required before.
    renderer: Option<MjRenderer>,
}

/// One camera and its last image.
struct View {
    camera: usize,
    period_s: f64,
    /// Number of images rendered.
    rendered: u32,
    pixels: Vec<u8>,
}

impl Cameras {
    pub(crate) fn resolve(model: &MjModel, scenario: &Scenario) -> Result<Self, WorldError> {
        let mut views = Vec::new();
        for observation in &scenario.observations {
            if let ObservationKind::Image { camera, rate_hz } = &observation.kind {
                let camera = handle::camera(model, camera, &format!("observation {:?}", observation.name))?;
                views.push(View { camera, period_s: 1.0 / rate_hz, rendered: 0, pixels: Vec::new() });
            }
        }
        Ok(Self { views, renderer: None })
    }

    /// Renders the images that are due at the data's time; the kinematics must be up to date.
    pub(crate) fn render_due(&mut self, data: &mut Data) -> Result<(), RenderError> {
        let now_s = data.time();
        let Self { views, renderer } = self;
        for view in views.iter_mut().filter(|view| view.is_due(now_s)) {
            data.camlight();
            let renderer = match renderer {
                Some(renderer) => renderer,
                None => renderer.insert(new_renderer(data.model())?),
            };
            renderer.set_camera(MjvCamera::new_fixed(view.camera));
            renderer.sync_data(data).map_err(|e| opengl(&e))?;
            renderer.render().map_err(|e| opengl(&e))?;
            let pixels = renderer.rgb_flat().ok_or_else(|| opengl(&"no colour buffer"))?;
            view.pixels.clear();
            view.pixels.extend_from_slice(pixels);
            view.rendered += 1;
        }
        Ok(())
    }

    /// Returns the number of images that each camera has rendered so far, and its last one.
    pub(crate) fn images(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.views.iter().map(|view| (view.rendered, view.pixels.as_slice()))
    }

    /// Returns the last image of a camera: rows from the top, `3 * 224 * 224` bytes once [`Self::render_due`]
    /// has been called.
    pub(crate) fn image(&self, view: usize) -> &[u8] {
        &self.views[view].pixels
    }
}

impl View {
    fn is_due(&self, now_s: f64) -> bool {
        now_s + TOLERANCE_S >= f64::from(self.rendered) * self.period_s
    }
}

fn new_renderer(model: &MjModel) -> Result<MjRenderer, RenderError> {
    let side = IMAGE_SIDE as usize;
    MjRenderer::new(model, side, side, 0).map_err(|e| opengl(&e))
}
