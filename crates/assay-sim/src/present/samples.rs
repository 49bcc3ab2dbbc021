//! Cameras and lights that differ slightly from drawing to drawing: the mean of the drawings has smooth edges and soft
//! shadows.

use mujoco_rs::prelude::*;

use crate::Simulation;

/// Half the angle in radians under which a light is seen: shadows are as soft as those of a lamp of 7 cm at 2 m.
const LIGHT_RADIUS: f64 = 0.018;
/// Distance of a light from the middle of the area with shadows, in half sides of the area.
const LIGHT_DISTANCE: f64 = 2.5;

/// The offsets of one drawing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sample {
    /// Offset of the picture in pixels, from -0.5 to 0.5.
    pixel: [f64; 2],
    /// Offset of the lights, inside the unit disc.
    light: [f64; 2],
}

/// Returns the offsets of drawing `index`, evenly spread for any number of drawings.
pub(crate) fn sample(index: u16) -> Sample {
    let [x, y, turn, out] = [2, 3, 5, 7].map(|base| radical_inverse(u32::from(index) + 1, base));
    let (sin, cos) = (std::f64::consts::TAU * turn).sin_cos();
    Sample { pixel: [x - 0.5, y - 0.5], light: [cos * out.sqrt(), sin * out.sqrt()] }
}

/// Returns the digits of `index` in `base`, mirrored at the radix point: the Halton sequence.
fn radical_inverse(mut index: u32, base: u32) -> f64 {
    let (mut value, mut digit) = (0.0, 1.0 / f64::from(base));
    while index > 0 {
        value += f64::from(index % base) * digit;
        index /= base;
        digit /= f64::from(base);
    }
    value
}

impl Sample {
    /// Turns `camera` away from where `centred` looks, about its position. `fovy` is in degrees; the picture has
    /// `height` rows.
    pub(crate) fn aim(self, camera: &mut MjvCamera, centred: &MjvCamera, fovy: f32, height: usize) {
        #[expect(clippy::cast_precision_loss, reason = "a picture's height")]
        let pixel_deg = f64::from(fovy) / height.max(1) as f64;
        let level = centred.elevation.to_radians().cos().max(0.1);
        camera.azimuth = centred.azimuth + self.pixel[0] * pixel_deg / level;
        camera.elevation = centred.elevation + self.pixel[1] * pixel_deg;
        let (before, after) = (forward(centred), forward(camera));
        camera.lookat = [0, 1, 2].map(|i| centred.lookat[i] + centred.distance * (after[i] - before[i]));
    }

    /// Sets the lights, whose directions are `directions`, beside the area with shadows (its middle, and half its side
    /// in m).
    pub(crate) fn light(self, simulation: &mut Simulation, directions: &[[f64; 3]], area: Option<([f64; 3], f64)>) {
        let model = simulation.model();
        let casts: Vec<bool> = (0..directions.len())
            .map(|light| model.light_castshadow()[light] && is_directional(model, light))
            .collect();
        let data = simulation.data_mut();
        for (light, direction) in directions.iter().enumerate().filter(|(light, _)| casts[*light]) {
            let turned = turned(*direction, self.light.map(|offset| offset * LIGHT_RADIUS));
            data.light_xdir_mut()[light] = turned;
            if let Some((middle, half_m)) = area {
                data.light_xpos_mut()[light] = [0, 1, 2].map(|i| middle[i] - LIGHT_DISTANCE * half_m * turned[i]);
            }
        }
    }
}

fn is_directional(model: &MjModel, light: usize) -> bool {
    model.light_type()[light] == MjtLightType::mjLIGHT_DIRECTIONAL
}

/// Returns the direction in which a camera without roll looks.
fn forward(camera: &MjvCamera) -> [f64; 3] {
    let (sin_a, cos_a) = camera.azimuth.to_radians().sin_cos();
    let (sin_e, cos_e) = camera.elevation.to_radians().sin_cos();
    [cos_e * cos_a, cos_e * sin_a, sin_e]
}

/// Returns the unit vector `direction` plus offsets along two axes perpendicular to it, with length 1.
fn turned(direction: [f64; 3], offsets: [f64; 2]) -> [f64; 3] {
    let [x, y, z] = direction;
    let flat = x.hypot(y);
    let across = if flat > 1e-6 { [-y / flat, x / flat, 0.0] } else { [1.0, 0.0, 0.0] };
    let along = [y * across[2] - z * across[1], z * across[0] - x * across[2], x * across[1] - y * across[0]];
    let sum = [0, 1, 2].map(|i| direction[i] + offsets[0] * across[i] + offsets[1] * along[i]);
    let length = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 { sum.map(|x| x / length) } else { direction }
}

#[cfg(test)]
mod tests {
    use super::{LIGHT_RADIUS, sample, turned};

    #[test]
    fn samples_are_spread_evenly() {
        let all: Vec<_> = (0..12).map(sample).collect();
        let mean = |of: &dyn Fn(usize) -> f64| (0..12).map(of).sum::<f64>() / 12.0;
        for axis in 0..2 {
            assert!(mean(&|i| all[i].pixel[axis]).abs() < 0.1 && mean(&|i| all[i].light[axis]).abs() < 0.25);
        }
        assert!(all.iter().all(|s| s.pixel.iter().all(|x| x.abs() <= 0.5) && s.light[0].hypot(s.light[1]) <= 1.0));
        assert!(all.iter().any(|s| s.pixel[0] < -0.25) && all.iter().any(|s| s.pixel[0] > 0.25));
    }

    #[test]
    fn a_turned_light_stays_a_unit_vector_near_its_direction() {
        for direction in [[0.0, 0.0, -1.0], [0.48, 0.6, -0.64], [1.0, 0.0, 0.0]] {
            let turned = turned(direction, [LIGHT_RADIUS, -LIGHT_RADIUS]);
            let dot: f64 = turned.iter().zip(direction).map(|(a, b)| a * b).sum();
            let length: f64 = turned.iter().map(|x| x * x).sum();
            assert!((length - 1.0).abs() < 1e-9 && dot > 0.999 && dot < 1.0 - 1e-5, "{dot}");
        }
    }
}
