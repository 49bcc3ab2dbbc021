//! Antialiased text in a proportional font on an RGB picture.

use ab_glyph::{Font, FontRef, Glyph, InvalidFont, PxScale, ScaleFont, point};

/// Maximum length of a text in characters; more is cut.
const MAX_CHARACTERS: usize = 160;

/// A font in two weights.
pub(crate) struct Lettering {
    regular: FontRef<'static>,
    bold: FontRef<'static>,
}

/// Weight, size and colour of a text.
#[derive(Clone, Copy)]
pub(crate) struct LetterStyle {
    pub(crate) bold: bool,
    /// Height from ascent to descent in pixels.
    pub(crate) size: f32,
    pub(crate) colour: [u8; 3],
}

/// A picture to write on: RGB, rows from the top.
pub(crate) struct Canvas<'a> {
    pub(crate) rgb: &'a mut [u8],
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// Share of the picture's brightness that remains behind a text, in 1/256: white on it has a contrast of at least 7.
pub(crate) const SHADE: u16 = 70;

impl Canvas<'_> {
    /// Darkens an area, so that text on it is readable: its upper left corner, and its width and height in pixels.
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and is checked against the picture")]
    pub(crate) fn shade(&mut self, (x, y): (f32, f32), (width, height): (f32, f32)) {
        for row in y.floor() as i64..(y + height).ceil() as i64 {
            for column in x.floor() as i64..(x + width).ceil() as i64 {
                for channel in self.pixel(column, row).into_iter().flatten() {
                    *channel = u8::try_from(u16::from(*channel) * SHADE / 256).unwrap_or(*channel);
                }
            }
        }
    }

    /// Returns the channels of the pixel, if it is inside the picture.
    pub(crate) fn pixel(&mut self, x: i64, y: i64) -> Option<&mut [u8]> {
        let (x, y) = (u32::try_from(x).ok()?, u32::try_from(y).ok()?);
        if x >= self.width || y >= self.height {
            return None;
        }
        let start = (y as usize * self.width as usize + x as usize) * 3;
        self.rgb.get_mut(start..start + 3)
    }
}

impl Lettering {
    /// Opens the font that is part of the program.
    pub(crate) fn open() -> Result<Self, InvalidFont> {
        let (regular, bold) = (dejavu::sans::regular(), dejavu::sans::bold());
        Ok(Self { regular: FontRef::try_from_slice(regular)?, bold: FontRef::try_from_slice(bold)? })
    }

    /// Returns the width of `text` in pixels.
    pub(crate) fn width(&self, style: LetterStyle, text: &str) -> f32 {
        let font = if style.bold { &self.bold } else { &self.regular };
        let scaled = font.as_scaled(PxScale::from(style.size));
        let shown = text.chars().filter(|character| !character.is_control()).take(MAX_CHARACTERS);
        shown.map(|character| scaled.h_advance(scaled.glyph_id(character))).sum()
    }

    /// Splits `text` between words into lines of at most `width` pixels; a longer word has a line of its own.
    pub(crate) fn lines(&self, style: LetterStyle, text: &str, width: f32) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            let longer = lines.last().map(|line| format!("{line} {word}"));
            if let Some(line) = longer.filter(|line| self.width(style, line) <= width) {
                lines.pop();
                lines.push(line);
            } else {
                lines.push(word.to_owned());
            }
        }
        lines
    }

    /// Writes `text` with its upper left corner at (`x`, `y`), cut at the picture's right edge. Returns its right end
    /// in pixels.
    pub(crate) fn write(&self, canvas: &mut Canvas<'_>, (x, y): (f32, f32), style: LetterStyle, text: &str) -> f32 {
        let font = if style.bold { &self.bold } else { &self.regular };
        let scaled = font.as_scaled(PxScale::from(style.size));
        let (mut at, baseline) = (x, y + scaled.ascent());
        #[expect(clippy::cast_precision_loss, reason = "a picture's width")]
        let edge = canvas.width as f32;
        for character in text.chars().filter(|character| !character.is_control()).take(MAX_CHARACTERS) {
            let id = scaled.glyph_id(character);
            let advance = scaled.h_advance(id);
            if at + advance > edge {
                break;
            }
            draw(font, canvas, id.with_scale_and_position(style.size, point(at, baseline)), style.colour);
            at += advance;
        }
        at
    }
}

fn draw(font: &FontRef<'_>, canvas: &mut Canvas<'_>, glyph: Glyph, colour: [u8; 3]) {
    let Some(outline) = font.outline_glyph(glyph) else { return };
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and is checked against the picture")]
    let corner = (outline.px_bounds().min.x as i64, outline.px_bounds().min.y as i64);
    outline.draw(|x, y, coverage| {
        let Some(pixel) = canvas.pixel(corner.0 + i64::from(x), corner.1 + i64::from(y)) else { return };
        for (channel, ink) in pixel.iter_mut().zip(colour) {
            let mixed = f32::from(*channel) + (f32::from(ink) - f32::from(*channel)) * coverage.clamp(0.0, 1.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 to 255")]
            let mixed = mixed.round() as u8;
            *channel = mixed;
        }
    });
}
