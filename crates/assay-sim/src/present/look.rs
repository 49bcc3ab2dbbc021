//! The look of videos and stills: antialiasing, shadows, and colours that look as they are named.

use mujoco_rs::prelude::*;

/// The use of a picture, which decides how much time it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    /// A frame of a video: one sample per pixel, whose edges are smoothed afterwards. With a software renderer, four
    /// samples would double the time of a frame.
    Frame,
    /// A picture of its own: four samples per pixel and fine shadows.
    Still,
}

impl Quality {
    /// Samples per pixel; 0 draws without antialiasing.
    fn samples(self) -> i32 {
        match self {
            Self::Frame => 0,
            Self::Still => 4,
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
/// Least saturation of a colour that has a name.
const MIN_SATURATION: f32 = 0.5;
/// Greatest share of blue in a green: more looks cyan.
const MAX_BLUE_OF_GREEN: f32 = 0.42;

/// Prepares a model for pictures of `width` x `height` pixels. Only visual settings change.
pub(crate) fn apply(model: &mut MjModel, width: u32, height: u32, quality: Quality) {
    let visual = model.vis_mut();
    visual.global.offwidth = i32::try_from(width).unwrap_or(i32::MAX);
    visual.global.offheight = i32::try_from(height).unwrap_or(i32::MAX);
    visual.quality.offsamples = quality.samples();
    visual.quality.shadowsize = quality.shadow_size();
    // A reflection draws the scene a second time.
    model.mat_reflectance_mut().fill(0.0);
    let emissions = model.mat_emission().to_vec();
    for (rgba, emission) in model.mat_rgba_mut().iter_mut().zip(emissions) {
        *rgba = named(*rgba, emission);
    }
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
