//! Wrapping of text to the width of a terminal.

use unicode_width::UnicodeWidthStr;

/// No-break space, which keeps two words on one line.
pub(super) const NO_BREAK: &str = "\u{a0}";

/// Wraps `text` to lines of at most `width` columns, broken between words. A longer word has its own line and stays
/// whole, because it may be a path, an address or a hash that is copied. Runs of spaces are kept unless they fall on a
/// line break; a no-break space keeps two words together and is printed as a space.
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

/// Returns the width of the longest word of `text`, in columns.
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
