//! Sanitises Markdown from untrusted authors. The result is Markdown that any page can render in its own way, but it
//! contains no HTML, only links to web pages, mail addresses and positions within the text, and no images: an external
//! image would reveal the reader to another server, and images of the folder are not served. Images are removed; other
//! forbidden content is shown as plain text.

use std::collections::BTreeMap;

use assay_model::sanitise;
use pulldown_cmark::{Event, Parser, Tag};

/// Permitted prefixes of a link.
const SCHEMES: [&str; 4] = ["https://", "http://", "mailto:", "#"];
/// Maximum number of passes: neutralising content in one pass can activate other content, less each time.
const MAX_ROUNDS: usize = 16;

/// Returns the text without active content.
pub(crate) fn harmless(text: &str) -> String {
    let mut text = sanitise(text, usize::MAX);
    for _ in 0..MAX_ROUNDS {
        let edits = edits(&text);
        if edits.is_empty() {
            return text;
        }
        for (start, (end, instead)) in edits.into_iter().rev() {
            text.replace_range(start..end, instead);
        }
    }
    // Text that is nested this deeply loses all markup.
    text.replace('<', "&lt;").replace('[', "&#91;")
}

/// Returns the replacements of active content: start, end and new text. They do not overlap.
fn edits(text: &str) -> BTreeMap<usize, (usize, &'static str)> {
    let (mut edits, mut done) = (BTreeMap::new(), 0);
    for (event, range) in Parser::new(text).into_offset_iter() {
        // Part of an image, which is removed as a whole.
        if range.start < done {
            continue;
        }
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {
                let found = text[range.clone()].match_indices('<');
                edits.extend(found.map(|(at, _)| (range.start + at, (range.start + at + 1, "&lt;"))));
            }
            Event::Start(Tag::Image { .. }) => {
                done = range.end;
                edits.insert(range.start, (range.end, ""));
            }
            Event::Start(Tag::Link { dest_url, .. }) if !is_allowed(&dest_url) => {
                let instead = if text[range.start..].starts_with('<') { "&lt;" } else { "&#91;" };
                edits.insert(range.start, (range.start + 1, instead));
            }
            _ => {}
        }
    }
    edits
}

fn is_allowed(link: &str) -> bool {
    let link = link.to_ascii_lowercase();
    // An autolink without a scheme is a mail address.
    SCHEMES.iter().any(|scheme| link.starts_with(scheme)) || !link.contains([':', '/', '\\']) && link.contains('@')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn harmless_markdown_is_unchanged() {
        let text = "# Reach\n\nGo *there*, `a < b`, [see](https://example.org/x) <me@example.org>, 3 < 4.\n\n```xml\n<mujoco/>\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        assert_eq!(harmless(text), text);
    }

    #[test]
    fn active_markup_is_shown_as_text() {
        for (text, shown) in [
            ("a <script>alert(1)</script>", "a &lt;script>alert(1)&lt;/script>"),
            ("<div onclick=x>\n[a](https://b.c)\n</div>", "&lt;div onclick=x>\n[a](https://b.c)\n&lt;/div>"),
            ("[a](javascript:alert)", "&#91;a](javascript:alert)"),
            ("[a](JaVaScRiPt:alert)", "&#91;a](JaVaScRiPt:alert)"),
            ("[a](data:text/html,x)", "&#91;a](data:text/html,x)"),
            ("<javascript:x>", "&lt;javascript:x>"),
            ("[a][b]\n\n[b]: javascript:x", "&#91;a]&#91;b]\n\n[b]: javascript:x"),
            ("a ![b](https://x.org/track.png) c", "a  c"),
            ("![[a](b)](c.png)", ""),
            ("!![a](b)[c](d)", "!&#91;c](d)"),
            ("[a](/keys)", "&#91;a](/keys)"),
            ("\u{1b}[31mred\u{202e}", "red"),
        ] {
            assert_eq!(harmless(text), shown, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_input_yields_active_content(text in "[\\[\\]()<>!a:#`*\\\\&;\n /\"'-]{0,60}|(<b>|<!--|-->|\\[|\\]|\\(javascript:x\\)|!|`|\n|&lt;|\\\\){0,40}") {
            prop_assert!(edits(&harmless(&text)).is_empty(), "{:?}", harmless(&text));
        }
    }
}
