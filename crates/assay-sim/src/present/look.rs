//! The look of videos and stills: antialiasing, shadows, and colours that look as they are named.

use mujoco_rs::prelude::*;
use mujoco_rs::wrappers::mj_auxiliary::MjVisual;

use super::{bowls, people, room};

/// The use of a picture, which decides how much time it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    /// A frame of a video: one sample per pixel, whose edges are smoothed afterwards. With a software renderer, four
    /// samples would double the time of a frame.
    Frame,
    /// A single picture: the mean of several drawings with slightly different cameras and lights, which smooths edges
    /// and softens shadows. With a software renderer, this costs less than as many samples per pixel.
    Still,
}

impl Quality {
    /// Number of drawings whose mean is the picture.
    pub(crate) fn drawings(self) -> u16 {
        match self {
            Self::Frame => 1,
            Self::Still => 12,
        }
    }

    /// Side length of the shadow map in pixels.
    fn shadow_size(self) -> i32 {
        match self {
            Self::Frame => 1024,
            Self::Still => 2048,
        }
    }
}

/// Sum of the lights on a surface, beyond which a colour saturates and changes its hue.
const LIGHT: f32 = 0.9;
/// Minimum saturation of a colour that has a name.
const MIN_SATURATION: f32 = 0.5;
/// Maximum share of blue in a green: more looks cyan.
const MAX_BLUE_OF_GREEN: f32 = 0.42;
/// Far clipping plane, in sides of the area with shadows. `MuJoCo` moves shadows away from surfaces by a share of it.
/// With less, surfaces are covered with dots of their own shadow; with four times as much, near surfaces flicker.
const FAR_SIDES: f32 = 1200.0;
/// Minimum near clipping plane in m: no camera is nearer to anything.
const NEAR_M: f32 = 0.1;
/// Factor for the radius of a robot's cylinders that are for the eye only. Their ends would stick out as dotted lines
/// of the facets of capsules with the same radius.
const CYLINDERS: f64 = 0.99;

/// Prepares a model for pictures of `width` x `height` pixels. Only what is seen changes.
pub(crate) fn apply(model: &mut MjModel, scenario: &str, width: u32, height: u32, quality: Quality) {
    let visual = model.vis_mut();
    visual.global.offwidth = i32::try_from(width).unwrap_or(i32::MAX);
    visual.global.offheight = i32::try_from(height).unwrap_or(i32::MAX);
    visual.quality.offsamples = 0;
    visual.quality.shadowsize = quality.shadow_size();
    // Lights that are far away light a flat face evenly: parts of it are not needed.
    visual.quality.numquads = 1;
    // A reflection draws the scene a second time.
    model.mat_reflectance_mut().fill(0.0);
    let emissions = model.mat_emission().to_vec();
    for (rgba, emission) in model.mat_rgba_mut().iter_mut().zip(emissions) {
        *rgba = named(*rgba, emission);
    }
    slim_cylinders(model);
    people::hide(model);
    bowls::hide(model);
    room::furnish(model, scenario);
}

/// Sets the area with shadows, of half the side `half_m`, before an OpenGL context is created.
pub(crate) fn limit_shadows(visual: &mut MjVisual, extent_m: f64, half_m: f64) {
    #[expect(clippy::cast_possible_truncation, reason = "visual settings have single precision")]
    let (extent, half) = (extent_m as f32, half_m as f32);
    if !(extent > 0.0 && half > 0.0 && half.is_finite()) {
        return;
    }
    visual.map.shadowclip = visual.map.shadowclip.min(half / extent);
    visual.map.zfar = FAR_SIDES * 2.0 * visual.map.shadowclip;
    visual.map.znear = visual.map.znear.max(NEAR_M / extent);
}

/// Makes those cylinders of robots slimmer that collide with nothing.
fn slim_cylinders(model: &mut MjModel) {
    let is_robots = |body: i32| {
        let name = usize::try_from(body).ok().and_then(|body| model.id_to_name(MjtObjBase::mjOBJ_BODY, body));
        // Only the bodies of attached robots have a prefix.
        name.is_some_and(|name| name.contains('/'))
    };
    let slim: Vec<usize> = (0..model.geom_bodyid().len())
        .filter(|geom| model.geom_type()[*geom] == MjtGeomBase::mjGEOM_CYLINDER)
        .filter(|geom| model.geom_contype()[*geom] == 0 && model.geom_conaffinity()[*geom] == 0)
        .filter(|geom| is_robots(model.geom_bodyid()[*geom]))
        .collect();
    let sizes = model.geom_size_mut();
    slim.into_iter().for_each(|geom| sizes[geom][0] *= CYLINDERS);
}

/// Returns the colour of a material so that it is seen as it is named: not saturated by its own light, and green
/// without much blue.
fn named([red, green, blue, alpha]: [f32; 4], emission: f32) -> [f32; 4] {
    let (least, greatest) = (red.min(green).min(blue), red.max(green).max(blue));
    let has_name = greatest > 0.0 && (greatest - least) / greatest > MIN_SATURATION;
    let blue = if has_name && green >= greatest { blue.min(MAX_BLUE_OF_GREEN * green) } else { blue };
    let brightness = greatest * (emission + LIGHT);
    let scale = if emission > 0.0 && brightness > 1.0 { 1.0 / brightness } else { 1.0 };
    [red * scale, green * scale, blue * scale, alpha]
}

#[cfg(test)]
mod tests {
    use super::{LIGHT, named};

    #[test]
    fn a_luminous_green_is_seen_as_green() {
        for (rgba, emission) in [([0.25, 0.98, 0.62, 0.55], 0.7), ([0.2, 0.8, 0.45, 1.0], 0.3)] {
            let [red, green, blue, alpha] = named(rgba, emission);
            let seen = [red, green, blue].map(|channel| channel * (emission + LIGHT));
            assert!(seen[1] <= 1.0 + 1e-6 && seen[2] < 0.5 * seen[1] && seen[0] < 0.5 * seen[1], "{seen:?}");
            assert!((alpha - rgba[3]).abs() < 1e-6);
        }
    }

    #[test]
    fn other_colours_stay() {
        for rgba in [[0.93, 0.94, 0.93, 1.0], [0.8, 0.68, 0.52, 1.0], [0.16, 0.45, 0.85, 1.0]] {
            assert_eq!(named(rgba, 0.0), rgba);
        }
    }
}
