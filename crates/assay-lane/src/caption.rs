//! Captions of frames: time, outcome, and the current or latest violated clause.

use assay_model::{EpisodeResult, Violation};

use crate::lettering::{Canvas, LetterStyle, Lettering};

/// Height of a line of text with its margin, as a share of the picture's height.
const LINE: f32 = 1.0 / 20.0;
/// Least height of a line in pixels: smaller letters cannot be read.
const MIN_LINE: f32 = 18.0;
/// Height of the letters, as a share of a line.
const LETTERS: f32 = 0.78;
/// Share of the picture's brightness that remains behind a text, in 1/256: white on it has a contrast of at least 7.
const SHADE: u16 = 70;
const WHITE: [u8; 3] = [240, 242, 245];
const RED: [u8; 3] = [255, 160, 150];
const GREEN: [u8; 3] = [116, 220, 140];

/// Writes the caption for simulated time `time_s` onto a `width` x `height` RGB picture.
pub(crate) fn caption(
    lettering: &Lettering,
    (rgb, width, height): (&mut [u8], u32, u32),
    scenario: &str,
    result: &EpisodeResult,
    time_s: f64,
) {
    let violation = current(&result.violations, time_s);
    #[expect(clippy::cast_precision_loss, reason = "a picture's height")]
    let line = (height as f32 * LINE).max(MIN_LINE);
    let lines = if violation.is_some() { 2.0 } else { 1.0 };
    shade(&mut rgb[..], (width, height), line * lines);
    let mut canvas = Canvas { rgb, width, height };
    let style = |bold, colour| LetterStyle { bold, size: line * LETTERS, colour };
    let (margin, top) = (line * 0.4, line * (1.0 - LETTERS) / 2.0);
    let head = format!("{scenario}   episode {}   {time_s:.2} s", result.episode);
    let end = lettering.write(&mut canvas, (margin, top), style(false, WHITE), &head);
    if let Some(violation) = violation {
        lettering.write(&mut canvas, (margin, line + top), style(true, RED), &describe(violation, time_s));
    } else if result.success && time_s >= result.sim_time_s - 0.5 {
        lettering.write(&mut canvas, (end + line, top), style(true, GREEN), "SUCCESS");
    }
}

/// Darkens the upper `depth` pixels, so that text on them is readable.
fn shade(rgb: &mut [u8], (width, height): (u32, u32), depth: f32) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is bounded")]
    let rows = (depth.ceil() as u32).min(height);
    let bytes = (rows as usize * width as usize * 3).min(rgb.len());
    for channel in &mut rgb[..bytes] {
        *channel = u8::try_from(u16::from(*channel) * SHADE / 256).unwrap_or(*channel);
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

#[cfg(test)]
mod tests {
    use super::{GREEN, RED, SHADE, WHITE, shade};
    use crate::lettering::{Canvas, LetterStyle, Lettering};

    /// Relative luminance (WCAG 2).
    fn luminance(colour: [u8; 3]) -> f64 {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2])
    }

    #[test]
    fn every_colour_contrasts_even_with_a_white_scene() {
        let mut white = vec![255; 3 * 4];
        shade(&mut white, (2, 2), 2.0);
        assert!(white.iter().all(|channel| u16::from(*channel) <= SHADE));
        let behind = luminance([white[0], white[1], white[2]]);
        for colour in [WHITE, RED, GREEN] {
            let contrast = (luminance(colour) + 0.05) / (behind + 0.05);
            assert!(contrast >= 4.5, "{colour:?}: {contrast:.1}");
        }
    }

    #[test]
    fn letters_have_smooth_edges_and_stay_inside_any_picture() {
        let lettering = Lettering::open().expect("the font is part of the program");
        let style = LetterStyle { bold: false, size: 28.0, colour: WHITE };
        let mut rgb = vec![0; 3 * 200 * 40];
        let mut canvas = Canvas { rgb: &mut rgb, width: 200, height: 40 };
        let narrow = lettering.write(&mut canvas, (4.0, 4.0), style, "illi");
        let wide = lettering.write(&mut canvas, (4.0, 4.0), style, "WMWM");
        assert!(wide > 2.0 * narrow, "proportional: {narrow} and {wide}");
        lettering.write(
            &mut canvas,
            (-20.0, 30.0),
            style,
            "\u{1b}[31m\u{202e}\u{10ffff} hostile text, longer than the picture",
        );
        let grey = rgb.iter().filter(|channel| (40..200).contains(*channel)).count();
        assert!(grey > 50, "{grey} channels between background and letter");
        let mut tiny = vec![0; 3];
        lettering.write(&mut Canvas { rgb: &mut tiny, width: 1, height: 1 }, (0.0, 0.0), style, "x");
    }
}
