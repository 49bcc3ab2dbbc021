//! The room around a world: floors and skies that would be grey in every scenario get a hue of their own.

use mujoco_rs::prelude::*;

/// Hues of rooms: factors of red, green and blue.
const HUES: [[f32; 3]; 6] = [
    [1.10, 1.01, 0.89],
    [0.91, 1.00, 1.08],
    [0.95, 1.03, 0.93],
    [1.00, 1.00, 1.00],
    [1.06, 0.99, 0.94],
    [0.90, 0.95, 1.01],
];
/// Maximum saturation of a texture that is grey, 0 to 1.
const GREY: f32 = 0.12;
/// Share of a hue that a sky gets.
const SKY: f32 = 0.5;
/// Minimum mean brightness (0 to 255) of a texture that gets a hue: dark rooms are dark on purpose.
const DARK: f32 = 90.0;

/// Gives grey floors and skies of the model the hue of `scenario`. Only textures change.
pub(super) fn furnish(model: &mut MjModel, scenario: &str) {
    let hue = hue_of(scenario);
    let floors = floor_textures(model);
    let skies: Vec<usize> = (0..model.tex_type().len())
        .filter(|texture| model.tex_type()[*texture] == MjtTexture::mjTEXTURE_SKYBOX)
        .collect();
    for texture in floors {
        tint(model, texture, hue);
    }
    for texture in skies {
        tint(model, texture, hue.map(|factor| 1.0 + (factor - 1.0) * SKY));
    }
}

/// Returns the hue of a scenario, which depends on its id alone.
fn hue_of(scenario: &str) -> [f32; 3] {
    // FNV-1a.
    let hash = scenario.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let count = u32::try_from(HUES.len()).unwrap_or(1);
    HUES[(hash % count) as usize]
}

/// Returns the textures of planes.
fn floor_textures(model: &MjModel) -> Vec<usize> {
    let planes = (0..model.geom_type().len()).filter(|geom| model.geom_type()[*geom] == MjtGeomBase::mjGEOM_PLANE);
    let materials = planes.filter_map(|geom| usize::try_from(model.geom_matid()[geom]).ok());
    let textures = materials.flat_map(|material| model.mat_texid()[material]);
    let mut found: Vec<usize> = textures.filter_map(|texture| usize::try_from(texture).ok()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Multiplies the colours of a texture, if it is grey and not dark.
fn tint(model: &mut MjModel, texture: usize, hue: [f32; 3]) {
    let number = |x: i64| usize::try_from(x).unwrap_or_default();
    let (start, channels) = (model.tex_adr()[texture], model.tex_nchannel()[texture]);
    let (width, height) = (i64::from(model.tex_width()[texture]), i64::from(model.tex_height()[texture]));
    if channels != 3 || start < 0 {
        return;
    }
    let (start, length) = (number(start), number(3 * width * height));
    let Some(pixels) = model.tex_data_mut().get_mut(start..start + length) else { return };
    if is_grey(pixels) {
        pixels.chunks_exact_mut(3).for_each(|pixel| shade(pixel, hue));
    }
}

/// Returns true if a texture (RGB) is grey and not dark, on average.
fn is_grey(pixels: &[u8]) -> bool {
    let mean = [0, 1, 2].map(|channel| {
        let (sum, count) = pixels
            .iter()
            .skip(channel)
            .step_by(3)
            .fold((0_u64, 0_u64), |(sum, count), value| (sum + u64::from(*value), count + 1));
        #[expect(clippy::cast_precision_loss, reason = "a mean colour")]
        let mean = sum as f32 / count.max(1) as f32;
        mean
    });
    let (least, greatest) = (mean.iter().copied().fold(255.0, f32::min), mean.iter().copied().fold(0.0, f32::max));
    greatest >= DARK && (greatest - least) / greatest <= GREY
}

/// Multiplies a pixel by a hue.
fn shade(pixel: &mut [u8], hue: [f32; 3]) {
    for (channel, factor) in pixel.iter_mut().zip(hue) {
        let value = (f32::from(*channel) * factor).round().clamp(0.0, 255.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 to 255")]
        let value = value as u8;
        *channel = value;
    }
}

#[cfg(test)]
mod tests {
    use super::{HUES, hue_of, is_grey, shade};

    #[test]
    fn grey_gets_a_hue_and_colours_stay() {
        assert!(is_grey(&[145, 148, 153].repeat(9)) && !is_grey(&[145, 148, 100].repeat(9)) && !is_grey(&[40; 9]));
        let mut pixel = [145, 148, 153];
        shade(&mut pixel, HUES[0]);
        assert!(pixel[0] > pixel[2], "warm: {pixel:?}");
    }

    #[test]
    fn rooms_differ() {
        let ids = ["tabletop_reach", "stack_blocks", "open_drawer", "carry_cup", "tidy_table", "shared_workspace"];
        let mut hues = ids.map(|id| hue_of(id).map(f32::to_bits)).to_vec();
        hues.sort_unstable();
        hues.dedup();
        assert!(hues.len() >= 4, "{} hues", hues.len());
    }
}
