//! Smooths the stairs along edges of a picture drawn with one sample per pixel, because several samples per pixel at
//! least double the time of drawing it with a software renderer.

/// Least difference of brightness (0 to 255) across an edge.
const EDGE: i32 = 24;
/// Weight of a neighbour beside the pixel's own 4.
const NEIGHBOUR: u32 = 1;

/// Returns the brightness of every pixel.
fn brightness(rgb: &[u8]) -> Vec<i32> {
    let of = |pixel: &[u8; 3]| (2 * i32::from(pixel[0]) + 5 * i32::from(pixel[1]) + i32::from(pixel[2])) >> 3;
    rgb.as_chunks::<3>().0.iter().map(of).collect()
}

/// Smooths a picture: RGB rows of `width` pixels. Pixels on an edge are mixed with those across it; others stay.
pub(crate) fn smooth(rgb: &mut [u8], width: usize) {
    let rows = (rgb.len() / 3).checked_div(width).unwrap_or(0);
    if width < 3 || rows < 3 {
        return;
    }
    let plane = brightness(rgb);
    let before = rgb.to_vec();
    for row in 1..rows - 1 {
        let line = |row: usize| &plane[row * width..(row + 1) * width];
        let (above, own, below) = (line(row - 1), line(row), line(row + 1));
        for column in 1..width - 1 {
            let differs = |other: i32| (other - own[column]).abs();
            let vertical = differs(above[column]).max(differs(below[column]));
            let horizontal = differs(own[column - 1]).max(differs(own[column + 1]));
            if vertical.max(horizontal) >= EDGE {
                mix(rgb, &before, row * width + column, if vertical >= horizontal { width } else { 1 });
            }
        }
    }
}

/// Mixes pixel `at` with the two that are `step` pixels away.
fn mix(rgb: &mut [u8], before: &[u8], at: usize, step: usize) {
    for channel in 3 * at..3 * at + 3 {
        let (a, b) = (u32::from(before[channel - 3 * step]), u32::from(before[channel + 3 * step]));
        let mixed = (4 * u32::from(before[channel]) + NEIGHBOUR * (a + b)) / (4 + 2 * NEIGHBOUR);
        rgb[channel] = u8::try_from(mixed).unwrap_or(u8::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::smooth;

    #[test]
    fn stairs_become_grey_and_plain_areas_stay() {
        let (width, rows) = (16, 16);
        let dark = |x: usize, y: usize| y > x / 2;
        let mut rgb: Vec<u8> =
            (0..rows * width).flat_map(|i| [if dark(i % width, i / width) { 20 } else { 220 }; 3]).collect();
        let before = rgb.clone();
        smooth(&mut rgb, width);
        assert!(rgb.iter().filter(|channel| (40..200).contains(*channel)).count() >= 3 * 2 * 10, "edges are mixed");
        assert_eq!(rgb[..3], before[..3]);
        assert_eq!(rgb[3 * (14 * width + 2)..][..3], before[3 * (14 * width + 2)..][..3]);
        smooth(&mut [], 0);
        smooth(&mut [1, 2, 3], 1);
    }
}
