//! Captions of frames: time, outcome, and the current or latest violated clause.

use assay_model::{EpisodeResult, Violation};
use embedded_graphics::mono_font::iso_8859_1::{FONT_9X15, FONT_9X15_BOLD};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::Rectangle;
use embedded_graphics::text::{Baseline, Text};

/// Height of a line of text with its margin, in pixels.
const LINE: i32 = 20;
/// Margin of the text, in pixels.
const MARGIN: i32 = 8;
/// Share of the picture's brightness that remains behind a text.
const SHADE: u16 = 90;
/// Maximum length of a caption in characters.
const MAX_CHARACTERS: usize = 68;
const WHITE: Rgb888 = Rgb888::new(240, 242, 245);
const RED: Rgb888 = Rgb888::new(255, 96, 84);
const GREEN: Rgb888 = Rgb888::new(116, 220, 140);

/// An RGB picture that text can be drawn on.
struct Canvas<'a> {
    rgb: &'a mut [u8],
    size: Size,
}

impl OriginDimensions for Canvas<'_> {
    fn size(&self) -> Size {
        self.size
    }
}

impl DrawTarget for Canvas<'_> {
    type Color = Rgb888;
    type Error = std::convert::Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Self::Error> {
        for Pixel(point, colour) in pixels {
            if let Some(slot) = self.pixel(point) {
                slot.copy_from_slice(&[colour.r(), colour.g(), colour.b()]);
            }
        }
        Ok(())
    }
}

impl Canvas<'_> {
    fn pixel(&mut self, point: Point) -> Option<&mut [u8]> {
        let (x, y) = (u32::try_from(point.x).ok()?, u32::try_from(point.y).ok()?);
        if x >= self.size.width || y >= self.size.height {
            return None;
        }
        let start = (y as usize * self.size.width as usize + x as usize) * 3;
        self.rgb.get_mut(start..start + 3)
    }

    /// Darkens a band, so that text on it is readable.
    fn shade(&mut self, band: Rectangle) {
        for point in band.points() {
            if let Some(slot) = self.pixel(point) {
                slot.iter_mut().for_each(|c| *c = u8::try_from(u16::from(*c) * SHADE / 256).unwrap_or(*c));
            }
        }
    }

    fn write(&mut self, line: i32, font: &MonoFont<'_>, colour: Rgb888, text: &str) {
        let text: String = text.chars().take(MAX_CHARACTERS).collect();
        let at = Point::new(MARGIN, line * LINE + (LINE - 15) / 2);
        let Ok(_) = Text::with_baseline(&text, at, MonoTextStyle::new(font, colour), Baseline::Top).draw(self);
    }
}

/// Draws the caption for simulated time `time_s` onto a `width` x `height` RGB picture.
pub(crate) fn caption(
    rgb: &mut [u8],
    (width, height): (u32, u32),
    scenario: &str,
    result: &EpisodeResult,
    time_s: f64,
) {
    let mut canvas = Canvas { rgb, size: Size::new(width, height) };
    let violation = current(&result.violations, time_s);
    let lines = if violation.is_some() { 2 } else { 1 };
    canvas.shade(Rectangle::new(Point::zero(), Size::new(width, lines * LINE.unsigned_abs())));
    let head = format!("{scenario}  episode {}  {time_s:6.2} s", result.episode);
    canvas.write(0, &FONT_9X15, WHITE, &head);
    if let Some(violation) = violation {
        canvas.write(1, &FONT_9X15_BOLD, RED, &describe(violation, time_s));
    } else if result.success && time_s >= result.sim_time_s - 0.5 {
        let tail = format!("{head}   SUCCESS");
        canvas.write(0, &FONT_9X15, GREEN, &tail);
        canvas.write(0, &FONT_9X15, WHITE, &head);
    }
}

/// Returns the violation to show: a current one, otherwise the latest that has ended.
fn current(violations: &[Violation], time_s: f64) -> Option<&Violation> {
    let begun = || violations.iter().filter(|v| v.start_s <= time_s);
    begun().rfind(|v| v.end_s >= time_s).or_else(|| begun().next_back())
}

fn describe(violation: &Violation, time_s: f64) -> String {
    let tense = if violation.end_s >= time_s { "VIOLATES" } else { "violated" };
    // A ratio has no unit.
    let unit = if violation.unit == "1" { String::new() } else { format!(" {}", violation.unit) };
    let value = violation.value.map(|value| format!("{value:.3}{unit} against ")).unwrap_or_default();
    format!("{tense} {} at {:.2} s: {value}{}{unit}", violation.clause, violation.start_s, violation.limit)
}
