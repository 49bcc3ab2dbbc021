//! The only sanitiser for text from a policy, a policy server or a scenario.

/// Marks the end of truncated text.
const ELLIPSIS: &str = "…";

/// Makes untrusted text safe to store and display: removes terminal escape sequences, control characters (except
/// newline and tab), and the bidirectional overrides that can hide text, and truncates the result at a character
/// boundary to at most `max_bytes` bytes, including the ellipsis.
#[must_use]
pub fn sanitise(text: &str, max_bytes: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max_bytes));
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            skip_escape(&mut chars);
        } else if is_harmless(c) {
            out.push(c);
            if out.len() > max_bytes {
                return cut(out, max_bytes);
            }
        }
    }
    out
}

fn is_harmless(c: char) -> bool {
    let hides_text =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    c == '\n' || c == '\t' || !(c.is_control() || hides_text)
}

/// Skips the rest of an ANSI sequence: CSI up to its final byte, OSC up to BEL or ESC, otherwise one character.
fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => while chars.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
        Some(']') => {
            while let Some(c) = chars.peek() {
                if *c == '\u{1b}' {
                    return;
                }
                if chars.next() == Some('\u{7}') {
                    return;
                }
            }
        }
        _ => {}
    }
}

fn cut(mut text: String, max_bytes: usize) -> String {
    let mut end = max_bytes.saturating_sub(ELLIPSIS.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    if max_bytes >= ELLIPSIS.len() {
        text.push_str(ELLIPSIS);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::sanitise;
    use proptest::prelude::*;

    #[test]
    fn terminal_escapes_and_control_characters_are_removed() {
        assert_eq!(sanitise("a\u{1b}[31mred\u{1b}[0m\u{7}b\r\n\tc", 100), "aredb\n\tc");
        assert_eq!(sanitise("x\u{1b}]0;title\u{7}y", 100), "xy");
        assert_eq!(sanitise("ab\u{202e}cd", 100), "abcd");
    }

    #[test]
    fn text_is_truncated_at_a_character() {
        assert_eq!(sanitise("ääää", 6), "ä…");
        assert_eq!(sanitise("abc", 3), "abc");
        assert_eq!(sanitise("abcd", 2), "");
    }

    proptest! {
        #[test]
        fn output_is_bounded_and_has_no_control_characters(text in ".*", max in 0_usize..64) {
            let clean = sanitise(&text, max);
            prop_assert!(clean.len() <= max.max(text.len().min(max)));
            prop_assert!(clean.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
        }
    }
}
