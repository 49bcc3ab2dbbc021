//! The only sanitiser for text from a policy, a policy server or a scenario.

/// Marks the end of truncated text.
const ELLIPSIS: &str = "…";

/// Makes untrusted text safe to store and display: removes terminal escape sequences, control characters (except
/// newline and tab), and the characters that are not seen or hide others ([`is_hidden`]), and truncates the result at a
/// character boundary to at most `max_bytes` bytes, including the ellipsis. Unicode's separators of lines become
/// newlines.
#[must_use]
pub fn sanitise(text: &str, max_bytes: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max_bytes));
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            skip_escape(&mut chars);
        } else if is_harmless(c) {
            out.push(if matches!(c, '\u{2028}' | '\u{2029}') { '\n' } else { c });
            if out.len() > max_bytes {
                return cut(out, max_bytes);
            }
        }
    }
    out
}

fn is_harmless(c: char) -> bool {
    c == '\n' || c == '\t' || matches!(c, '\u{2028}' | '\u{2029}') || !(c.is_control() || is_hidden(c))
}

/// Returns true for characters that are not seen, or change the order or place of others: marks of direction, spaces of
/// no width, invisible operators, separators of lines, and tags. Joiners are part of many scripts, and stay.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
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

    /// Characters that made two names look alike. The first six were seen in names of accounts, keys and policies.
    const HIDDEN: [char; 16] = [
        '\u{61c}',
        '\u{200b}',
        '\u{2060}',
        '\u{2061}',
        '\u{2062}',
        '\u{2064}',
        '\u{2063}',
        '\u{ad}',
        '\u{180e}',
        '\u{2066}',
        '\u{206a}',
        '\u{fff9}',
        '\u{e0041}',
        '\u{200f}',
        '\u{202e}',
        '\u{feff}',
    ];

    #[test]
    fn characters_that_are_not_seen_are_removed() {
        for c in HIDDEN {
            assert_eq!(sanitise(&format!("ad{c}min"), 100), "admin", "U+{:04X}", u32::from(c));
        }
        assert_eq!(sanitise("a\u{2028}b\u{2029}c", 100), "a\nb\nc");
        let scripts = "\u{645}\u{6cc}\u{200c}\u{62e}\u{648} \u{928}\u{92e}\u{938}\u{94d}\u{924}\u{947} \u{1f469}\u{200d}\u{1f680}";
        assert_eq!(sanitise(scripts, 1000), scripts);
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
