//! Insets: what the policy's cameras see, in the lower right corner of a video.

use crate::lettering::{Canvas, LetterStyle, Lettering};
use crate::observed_images::{ObservedImages, SeenImage};
use crate::png_image::{SizedPicture, decode_png};

/// Height of an inset, as a share of the picture's height.
const HEIGHT: f32 = 0.27;
/// Maximum width of all insets, as a share of the picture's width.
const MAX_WIDTH: f32 = 0.5;
/// Distance between insets, and from the picture's edges, as a share of the picture's height.
const GAP: f32 = 0.016;
/// Width of the frame around an inset in pixels.
const FRAME: u32 = 2;
const FRAME_COLOUR: [u8; 3] = [240, 242, 245];
/// Height of a camera's name, as a share of its inset's height, and its minimum height in pixels.
const NAME: (f32, f32) = (0.11, 10.0);

/// The policy's images, of which the last of each camera is shown.
pub(crate) struct Insets<'a> {
    seen: &'a ObservedImages,
    /// Number of images that are due so far.
    due: usize,
    /// The last image of each camera.
    last: Vec<Option<SizedPicture>>,
}

impl<'a> Insets<'a> {
    pub(crate) fn new(seen: &'a ObservedImages) -> Self {
        Self { seen, due: 0, last: seen.cameras.iter().map(|_| None).collect() }
    }

    /// Draws the images that the policy had seen by `time_s` onto a picture.
    pub(crate) fn draw(&mut self, lettering: &Lettering, canvas: &mut Canvas<'_>, time_s: f64) {
        self.advance(time_s);
        let shown: Vec<usize> = (0..self.last.len()).filter(|camera| self.last[*camera].is_some()).collect();
        let gap = share(canvas.height, GAP);
        let aspect = |camera: &usize| self.last[*camera].as_ref().map_or(1.0, |((w, h), _)| ratio(*w, *h));
        let width: f32 = shown.iter().map(aspect).sum();
        let height = (share(canvas.width, MAX_WIDTH) as f32 / width.max(0.1)).min(canvas.height as f32 * HEIGHT);
        let mut right = canvas.width.saturating_sub(gap);
        for camera in shown.into_iter().rev() {
            let Some((size, pixels)) = &self.last[camera] else { continue };
            let inset = (whole(height * ratio(size.0, size.1)), whole(height));
            let corner = (right.saturating_sub(inset.0), canvas.height.saturating_sub(inset.1 + gap));
            frame(canvas, corner, inset);
            scale(canvas, (pixels, *size), (corner, inset));
            name(lettering, canvas, &self.seen.cameras[camera].name, corner, height);
            right = corner.0.saturating_sub(gap);
        }
    }

    /// Decodes the images that are due.
    fn advance(&mut self, time_s: f64) {
        let is_due = |image: &&SeenImage| image.time_s <= time_s + 1e-9;
        let mut newest: Vec<Option<&SeenImage>> = self.last.iter().map(|_| None).collect();
        while let Some(image) = self.seen.images.get(self.due).filter(is_due) {
            newest[image.camera] = Some(image);
            self.due += 1;
        }
        for image in newest.into_iter().flatten() {
            self.last[image.camera] = decode_png(&image.png);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "sides of pictures")]
fn ratio(width: u32, height: u32) -> f32 {
    width as f32 / height.max(1) as f32
}

#[expect(clippy::cast_precision_loss, reason = "sides of pictures")]
fn share(side: u32, share: f32) -> u32 {
    whole(side as f32 * share)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole(pixels: f32) -> u32 {
    pixels.round().max(0.0) as u32
}

/// Fills the area of an inset and its frame.
fn frame(canvas: &mut Canvas<'_>, (x, y): (u32, u32), (width, height): (u32, u32)) {
    for row in y.saturating_sub(FRAME)..y + height + FRAME {
        for column in x.saturating_sub(FRAME)..x + width + FRAME {
            if let Some(pixel) = canvas.pixel(i64::from(column), i64::from(row)) {
                pixel.copy_from_slice(&FRAME_COLOUR);
            }
        }
    }
}

/// Draws an image into an area; each pixel is the nearest of the image.
fn scale(
    canvas: &mut Canvas<'_>,
    (pixels, (from_width, from_height)): (&[u8], (u32, u32)),
    ((x, y), (width, height)): ((u32, u32), (u32, u32)),
) {
    for row in 0..height {
        for column in 0..width {
            let from = (u64::from(row) * u64::from(from_height) / u64::from(height.max(1))) * u64::from(from_width)
                + u64::from(column) * u64::from(from_width) / u64::from(width.max(1));
            let at = usize::try_from(3 * from).unwrap_or(usize::MAX);
            let seen = pixels.get(at..at.saturating_add(3));
            if let (Some(seen), Some(pixel)) = (seen, canvas.pixel(i64::from(x + column), i64::from(y + row))) {
                pixel.copy_from_slice(seen);
            }
        }
    }
}

fn name(lettering: &Lettering, canvas: &mut Canvas<'_>, name: &str, (x, y): (u32, u32), height: f32) {
    let size = (height * NAME.0).max(NAME.1);
    let style = LetterStyle { bold: true, size, colour: FRAME_COLOUR };
    #[expect(clippy::cast_precision_loss, reason = "sides of pictures")]
    let (x, y) = (x as f32, y as f32);
    let text = name.strip_prefix("images/").unwrap_or(name);
    let width = lettering.width(style, text) + size * 0.6;
    canvas.shade((x, y), (width, size * 1.2));
    lettering.write(canvas, (x + size * 0.3, y + size * 0.1), style, text);
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{FRAME_COLOUR, Insets};
    use crate::lettering::{Canvas, Lettering};
    use crate::observed_images::{ObservedImages, SeenImage};
    use crate::png_image::encode_png;

    #[test]
    fn the_last_image_of_each_camera_is_shown_inside_the_picture() {
        let camera = |name: &str, width| assay_scenario::ObservedCamera {
            name: name.to_owned(),
            camera: name.to_owned(),
            width,
            height: 20,
            rate_hz: 10.0,
            every_steps: None,
            depth: false,
        };
        let image = |camera, time_s, width, rgb: [u8; 3]| SeenImage {
            time_s,
            camera,
            png: encode_png(width, 20, &rgb.repeat(width as usize * 20)).unwrap(),
        };
        let seen = ObservedImages {
            cameras: vec![camera("wide", 40), camera("square", 20)],
            images: vec![
                image(0, 0.0, 40, [200, 0, 0]),
                image(1, 0.0, 20, [0, 0, 200]),
                image(0, 0.5, 40, [0, 200, 0]),
                image(0, 9.0, 40, [9, 9, 9]),
            ],
            bytes: 0,
        };
        let lettering = Lettering::open().unwrap();
        let mut insets = Insets::new(&seen);
        // The names cover more of small pictures.
        for (width, height, covered) in [(960_u32, 540_u32, 0.25), (160, 90, 0.7)] {
            let mut rgb = vec![100; 3 * width as usize * height as usize];
            insets.draw(&lettering, &mut Canvas { rgb: &mut rgb, width, height }, 0.5);
            let count = |colour: [u8; 3]| rgb.chunks_exact(3).filter(|pixel| *pixel == colour).count();
            let (wide, square) = (count([0, 200, 0]), count([0, 0, 200]));
            let side = f64::from(height) * 0.27;
            for (found, area) in [(wide as f64, 2.0 * side * side), (square as f64, side * side)] {
                let range = (1.0 - covered) * area..=1.1 * area;
                assert!(range.contains(&found), "{width} x {height}: {found} of {area}");
            }
            assert!(count([200, 0, 0]) == 0 && count(FRAME_COLOUR) > 100, "only the last image, in a frame");
        }
    }
}
