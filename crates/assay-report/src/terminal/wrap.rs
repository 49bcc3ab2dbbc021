//! Breaks text into lines that fit a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Keeps words together.
pub(super) const NO_BREAK: &str = "\u{a0}";

/// `text` in lines of at most `width` columns, broken between words; a word that is longer is cut. Runs of spaces stay
/// when they do not fall on a break; a no-break space keeps two words together and comes out as a space.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_inclusive(' ') {
        if line.width() + word.trim_end().width() > width && !line.is_empty() {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        }
        for c in word.chars() {
            if line.width() + c.width().unwrap_or(0) > width && c != ' ' {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line.trim_end().to_owned());
    lines.into_iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::wrap;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn breaks_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("a b\u{a0}c", 4), ["a", "b c"]);
    }

    proptest! {
        #[test]
        fn always_fits_and_loses_nothing_but_spaces(text in "[a-z0-9 \u{e4}\u{4e2d}]{0,80}", width in 2_usize..30) {
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| line.width() <= width));
            let squeeze = |t: &str| t.replace(' ', "");
            prop_assert_eq!(squeeze(&lines.concat()), squeeze(&text));
        }
    }
}
