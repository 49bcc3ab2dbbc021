//! Smooths the stairs along edges of a picture drawn with one sample per pixel, because several samples per pixel at
//! least double the time of drawing it with a software renderer.

/// Minimum difference of brightness (0 to 255) across an edge.
const EDGE: i32 = 24;
/// Minimum difference of brightness between a dot and its surroundings.
const DOT: i32 = 28;
/// Number of brighter neighbours, of eight, that make a pixel a dot. A line has two that are not.
const LONELY: usize = 7;
/// Weight of a neighbour beside the pixel's own 4.
const NEIGHBOUR: u32 = 1;

/// Removes dots, and smooths the edges of a picture drawn with one sample per pixel: RGB rows of `width` pixels.
pub(crate) fn clean(rgb: &mut [u8], width: usize) {
    let mut plane = brightness(rgb);
    without_dots(rgb, width, &mut plane);
    without_stairs(rgb, width, &plane);
}

/// Returns the brightness of every pixel.
fn brightness(rgb: &[u8]) -> Vec<i32> {
    let of = |pixel: &[u8; 3]| (2 * i32::from(pixel[0]) + 5 * i32::from(pixel[1]) + i32::from(pixel[2])) >> 3;
    rgb.as_chunks::<3>().0.iter().map(of).collect()
}

/// Removes dots: a pixel that is much darker than at least [`LONELY`] of its eight neighbours, as where a surface
/// shadows itself, gets the colour of the brightest of the four beside it. RGB rows of `width` pixels.
pub(crate) fn remove_dots(rgb: &mut [u8], width: usize) {
    let mut plane = brightness(rgb);
    without_dots(rgb, width, &mut plane);
}

fn without_dots(rgb: &mut [u8], width: usize, plane: &mut [i32]) {
    let rows = (rgb.len() / 3).checked_div(width).unwrap_or(0);
    if width < 3 || rows < 3 {
        return;
    }
    let mut dots = Vec::new();
    for row in 1..rows - 1 {
        let line = |row: usize| &plane[row * width..(row + 1) * width];
        let (above, own, below) = (line(row - 1), line(row), line(row + 1));
        for column in 1..width - 1 {
            let limit = own[column] + DOT;
            // Most pixels have a left neighbour that is no brighter, which ends the look at once.
            if own[column - 1] < limit && own[column + 1] < limit {
                continue;
            }
            let brighter = |line: &[i32]| line[column - 1..=column + 1].iter().filter(|x| **x >= limit).count();
            if brighter(above) + brighter(own) + brighter(below) >= LONELY {
                dots.push(row * width + column);
            }
        }
    }
    for at in dots {
        let beside = [at - 1, at + 1, at - width, at + width];
        if let Some(from) = beside.into_iter().max_by_key(|pixel| plane[*pixel]) {
            rgb.copy_within(3 * from..3 * from + 3, 3 * at);
            plane[at] = plane[from];
        }
    }
}

/// Smooths edges: their pixels are mixed with those across them; others stay.
fn without_stairs(rgb: &mut [u8], width: usize, plane: &[i32]) {
    let rows = (rgb.len() / 3).checked_div(width).unwrap_or(0);
    if width < 3 || rows < 3 {
        return;
    }
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
    use super::{clean, remove_dots};

    #[test]
    fn dots_vanish_and_lines_stay() {
        let (width, rows) = (16, 16);
        let mut rgb = vec![200_u8; 3 * width * rows];
        let mut draw = |x: usize, y: usize| rgb[3 * (y * width + x)..][..3].fill(20);
        draw(4, 4);
        [8, 9].into_iter().for_each(|x| draw(x, 8));
        (2..14).for_each(|x| draw(x, 12));
        remove_dots(&mut rgb, width);
        let dark = |x: usize, y: usize| rgb[3 * (y * width + x)] < 100;
        assert!(!dark(4, 4) && !dark(8, 8) && !dark(9, 8), "dots and dashes of two");
        assert_eq!((3..13).filter(|x| dark(*x, 12)).count(), 10, "a line, but for its ends");
        remove_dots(&mut [], 0);
        remove_dots(&mut [1, 2, 3], 1);
    }

    #[test]
    fn stairs_become_grey_and_plain_areas_stay() {
        let (width, rows) = (16, 16);
        let dark = |x: usize, y: usize| y > x / 2;
        let mut rgb: Vec<u8> =
            (0..rows * width).flat_map(|i| [if dark(i % width, i / width) { 20 } else { 220 }; 3]).collect();
        let before = rgb.clone();
        clean(&mut rgb, width);
        assert!(rgb.iter().filter(|channel| (40..200).contains(*channel)).count() >= 3 * 2 * 10, "edges are mixed");
        assert_eq!(rgb[..3], before[..3]);
        assert_eq!(rgb[3 * (14 * width + 2)..][..3], before[3 * (14 * width + 2)..][..3]);
        clean(&mut [], 0);
        clean(&mut [1, 2, 3], 1);
    }
}
