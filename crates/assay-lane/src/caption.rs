//! Captions of frames: time, outcome, and the violated clause.

use assay_model::EpisodeResult;

use crate::lettering::{Canvas, LetterStyle, Lettering};

/// Height of a line of text with its margin, as a share of the picture's height.
const LINE: f32 = 1.0 / 20.0;
/// Minimum height of a line in pixels: smaller letters cannot be read.
const MIN_LINE: f32 = 18.0;
/// Height of the letters, as a share of a line.
const LETTERS: f32 = 0.78;
const WHITE: [u8; 3] = [240, 242, 245];
const RED: [u8; 3] = [255, 160, 150];
const GREEN: [u8; 3] = [116, 220, 140];

/// Maximum number of lines of one text; more are left out.
const MAX_LINES: usize = 4;

/// Writes the caption for simulated time `time_s` onto a `width` x `height` RGB picture; `violation` describes the
/// violation to show. A text that is wider than the picture is continued on the next line.
pub(crate) fn caption(
    lettering: &Lettering,
    (rgb, width, height): (&mut [u8], u32, u32),
    scenario: &str,
    result: &EpisodeResult,
    (time_s, violation): (f64, Option<String>),
) {
    #[expect(clippy::cast_precision_loss, reason = "sides of a picture")]
    let (wide, line) = (width as f32, (height as f32 * LINE).max(MIN_LINE));
    let style = |bold, colour| LetterStyle { bold, size: line * LETTERS, colour };
    let (margin, top) = (line * 0.4, line * (1.0 - LETTERS) / 2.0);
    let mut texts =
        vec![(style(false, WHITE), format!("{scenario} \u{b7} episode {} \u{b7} {time_s:.2} s", result.episode))];
    if let Some(violation) = violation {
        texts.push((style(true, RED), violation));
    } else if result.success && time_s >= result.sim_time_s - 0.5 {
        texts.push((style(true, GREEN), "SUCCESS".to_owned()));
    }
    let lines = texts.iter().flat_map(|(style, text)| {
        let lines = lettering.lines(*style, text, wide - 2.0 * margin);
        lines.into_iter().take(MAX_LINES).map(|text| (*style, text))
    });
    let lines: Vec<(LetterStyle, String)> = lines.collect();
    let mut canvas = Canvas { rgb, width, height };
    let mut y = 0.0;
    for (style, text) in lines {
        canvas.shade((0.0, y), (wide, line));
        // A single word that is too wide is written smaller.
        let fits = ((wide - 2.0 * margin) / lettering.width(style, &text).max(1.0)).min(1.0);
        lettering.write(&mut canvas, (margin, y + top), LetterStyle { size: style.size * fits, ..style }, &text);
        y += line.round();
    }
}

#[cfg(test)]
mod tests {
    use super::{GREEN, RED, WHITE};
    use crate::lettering::{Canvas, LetterStyle, Lettering, SHADE};

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
        Canvas { rgb: &mut white, width: 2, height: 2 }.shade((0.0, 0.0), (2.0, 2.0));
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

    #[test]
    fn no_text_is_cut_in_small_videos() {
        let lettering = Lettering::open().expect("the font is part of the program");
        let text = "VIOLATES: The arm does not touch itself or the column that it is mounted on \
                    (self_contact_force_of_the_arm): 123.5 N now, limit 110 N, since 12.25 s";
        for width in [160.0_f32, 320.0, 640.0] {
            let style = LetterStyle { bold: true, size: 14.0, colour: RED };
            let lines = lettering.lines(style, text, width);
            assert_eq!(lines.join(" "), text, "nothing is lost");
            let too_wide = lines.iter().filter(|line| lettering.width(style, line) > width && line.contains(' '));
            assert_eq!(too_wide.count(), 0, "{width}: {lines:?}");
        }
    }
}
