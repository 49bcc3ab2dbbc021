//! Render profiles: everything that assay decides about drawing a policy's images. A profile never changes once it is
//! released; other settings get a new version, and scenarios that name none stay with the first
//! (`docs/scenarios.md`). Videos and thumbnails have settings of their own in [`crate::world`] and use none of this.
//!
//! Besides its profile, an image depends on the world and its state, on the scenario's camera, size and rate, on the
//! `<visual>` settings, lights and materials of its MJCF (all covered by the scenario's digest), on MuJoCo (covered by
//! the fingerprint), and on the machine's OpenGL.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use mujoco_rs::prelude::*;
use mujoco_rs::renderer::MjRenderer;

use crate::handle::Data;
use crate::opengl::{RenderError, opengl};

/// Factor by which the far clipping plane is moved to draw depth.
const FAR_FACTOR: f32 = 4.0;

/// The settings of one version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RenderProfile {
    /// Samples per pixel; 0 draws without antialiasing.
    samples: i32,
    /// Side length of the shadow map in pixels; 0 draws no shadows.
    shadow_size: i32,
    /// True if materials reflect the scene.
    reflections: bool,
    /// Depth of a pixel that shows nothing, in m.
    no_depth: f32,
}

/// Version 1: shadows and reflections would cost nine times as much (45 instead of 5 ms of CPU time per image of
/// 224 x 224 pixels), antialiasing twice as much.
const VERSION_1: RenderProfile = RenderProfile { samples: 0, shadow_size: 0, reflections: false, no_depth: 0.0 };
/// All versions, from 1.
const VERSIONS: [RenderProfile; 1] = [VERSION_1];

impl RenderProfile {
    /// Returns the profile of that version; a scenario names only versions in [`assay_scenario::RENDER_PROFILES`].
    pub(crate) fn of(version: u32) -> Self {
        VERSIONS.get(version.saturating_sub(1) as usize).copied().unwrap_or(VERSION_1)
    }

    /// Prepares a model for drawing images of at most `width` x `height` pixels.
    pub(crate) fn apply(self, model: &mut MjModel, (width, height): (u32, u32)) {
        let visual = model.vis_mut();
        visual.global.offwidth = i32::try_from(width).unwrap_or(i32::MAX);
        visual.global.offheight = i32::try_from(height).unwrap_or(i32::MAX);
        visual.quality.offsamples = self.samples;
        visual.quality.shadowsize = self.shadow_size;
        if !self.reflections {
            model.mat_reflectance_mut().fill(0.0);
        }
    }
}

/// A picture to draw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Picture {
    /// Index of the camera in the model.
    pub(crate) camera: usize,
    /// Width and height in pixels.
    pub(crate) size: (u32, u32),
    pub(crate) depth: bool,
}

/// Draws a policy's images according to a profile. It must stay on the thread that first drew one.
#[derive(Debug)]
pub(crate) struct ImageRenderer {
    profile: RenderProfile,
    /// Renderers for each size, of colour (false) and of depth (true), created when they are first needed, so that
    /// OpenGL is not required before. Each has its own OpenGL context.
    renderers: BTreeMap<((u32, u32), bool), MjRenderer>,
}

impl ImageRenderer {
    pub(crate) fn new(profile: RenderProfile) -> Self {
        Self { profile, renderers: BTreeMap::new() }
    }

    /// Draws the state of `data`, whose kinematics must be up to date: RGB rows from the top into `colour` and, if the
    /// picture has depth, rows of little-endian float32 in m along the optical axis into `depth`.
    pub(crate) fn draw(
        &mut self,
        data: &mut Data,
        picture: Picture,
        colour: &mut Vec<u8>,
        depth: &mut Vec<u8>,
    ) -> Result<(), RenderError> {
        data.camlight();
        let renderer = self.rendered(data, picture, false)?;
        let pixels = renderer.rgb_flat().ok_or_else(|| opengl(&"no colour buffer"))?;
        colour.clear();
        colour.extend_from_slice(pixels);
        if picture.depth {
            self.draw_depth(data, picture, depth)?;
        }
        Ok(())
    }

    /// Draws only the depth. A sky is drawn as a surface that is more than half as far as the far clipping plane. To
    /// tell it from other surfaces, that plane is moved so far away that nothing else can be beyond its former
    /// distance.
    fn draw_depth(&mut self, data: &mut Data, picture: Picture, depth: &mut Vec<u8>) -> Result<(), RenderError> {
        let no_depth = self.profile.no_depth;
        let zfar = data.model().vis().map.zfar;
        let far_m = far_m(data.model());
        data.model_vis_mut().map.zfar = zfar * FAR_FACTOR;
        let renderer = self.rendered(data, picture, true);
        data.model_vis_mut().map.zfar = zfar;
        let metres = renderer?.depth_flat().ok_or_else(|| opengl(&"no depth buffer"))?;
        let seen = |metres: f32| if metres < far_m { metres } else { no_depth };
        depth.resize(4 * metres.len(), 0);
        for (bytes, metres) in depth.as_chunks_mut::<4>().0.iter_mut().zip(metres) {
            *bytes = seen(*metres).to_le_bytes();
        }
        Ok(())
    }

    /// Returns the renderer of the picture's size, with the picture drawn.
    fn rendered(&mut self, data: &mut Data, picture: Picture, depth: bool) -> Result<&MjRenderer, RenderError> {
        let renderer = match self.renderers.entry((picture.size, depth)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let (width, height) = picture.size;
                let renderer = MjRenderer::new(data.model(), width as usize, height as usize, 0);
                let renderer = renderer.map_err(|e| opengl(&e))?;
                entry.insert(renderer.with_rgb_rendering(!depth).with_depth_rendering(depth))
            }
        };
        renderer.set_camera(MjvCamera::new_fixed(picture.camera));
        renderer.sync_data(data).map_err(|e| opengl(&e))?;
        renderer.render().map_err(|e| opengl(&e))?;
        Ok(renderer)
    }
}

impl Drop for ImageRenderer {
    /// Frees the objects of each renderer while its own context is current; another context has other objects of the
    /// same names.
    fn drop(&mut self) {
        if self.renderers.len() < 2 {
            return;
        }
        while let Some((_, mut renderer)) = self.renderers.pop_first() {
            // The cheapest call that makes a context current; these renderers show no text.
            drop(renderer.set_font_scale(MjtFontScale::mjFONTSCALE_100));
        }
    }
}

/// Returns the distance of the far clipping plane in m.
fn far_m(model: &MjModel) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "as the renderer does")]
    let extent = model.stat().extent as f32;
    model.vis().map.zfar * extent
}

#[cfg(test)]
mod tests {
    use super::{RenderProfile, VERSION_1, VERSIONS};

    #[test]
    fn every_version_that_a_scenario_can_name_exists() {
        assert_eq!(VERSIONS.len(), assay_scenario::RENDER_PROFILES.count());
        assert_eq!(RenderProfile::of(assay_scenario::DEFAULT_RENDER_PROFILE), VERSION_1);
    }
}
