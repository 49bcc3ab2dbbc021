//! Breaks text into lines that fit a terminal.

use unicode_width::UnicodeWidthStr;

/// Keeps words together.
pub(super) const NO_BREAK: &str = "\u{a0}";

/// `text` in lines of at most `width` columns, broken between words. A word that is longer has a line of its own and
/// stays whole: it is a path, an address or a hash, which somebody may copy. Runs of spaces stay when they do not fall
/// on a break; a no-break space keeps two words together and comes out as a space.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_inclusive(' ') {
        if line.width() + word.trim_end().width() > width && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.into_iter().map(|line| line.trim_end().replace(NO_BREAK, " ")).collect()
}

/// Columns of the longest word of `text`.
pub(super) fn longest_word(text: &str) -> usize {
    text.split(' ').map(UnicodeWidthStr::width).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::wrap;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("a abcdefgh b", 3), ["a", "abcdefgh", "b"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("a b\u{a0}c", 4), ["a", "b c"]);
    }

    proptest! {
        #[test]
        fn only_words_that_are_too_long_exceed_the_width(text in "[a-z0-9 \u{e4}\u{4e2d}]{0,80}", width in 2_usize..30) {
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| line.width() <= width || !line.contains(' ')));
            prop_assert!(lines.join(" ").split_whitespace().eq(text.split_whitespace()));
        }
    }
}
