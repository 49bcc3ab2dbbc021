//! Markdown of untrusted authors as HTML.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::link::address;

/// Returns the text as HTML without active content: raw HTML is shown as text, images are left out, links lead only to
/// web pages, and headings begin below those of the page.
#[must_use]
pub fn markdown(text: &str) -> String {
    let text = assay_model::sanitise(text, usize::MAX);
    let mut image_depth = 0_u32;
    let events = Parser::new_ext(&text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Image { .. }) => {
            image_depth += 1;
            None
        }
        Event::End(TagEnd::Image) => {
            image_depth = image_depth.saturating_sub(1);
            None
        }
        _ if image_depth > 0 => None,
        Event::Html(raw) | Event::InlineHtml(raw) => Some(Event::Text(raw)),
        Event::Start(Tag::Heading { level, .. }) => {
            Some(Event::Start(Tag::Heading { level: below(level), id: None, classes: Vec::new(), attrs: Vec::new() }))
        }
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(below(level)))),
        Event::Start(Tag::Link { link_type, dest_url, .. }) => {
            let web = address(&dest_url).filter(|url| url.starts_with("http")).unwrap_or_default();
            let (dest_url, title) = (CowStr::from(web), CowStr::from(""));
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id: CowStr::from("") }))
        }
        other => Some(other),
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// Returns the level of a heading below the second level of the page.
fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H3,
        HeadingLevel::H3 => HeadingLevel::H4,
        HeadingLevel::H4 => HeadingLevel::H5,
        HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use super::markdown;

    #[test]
    fn nothing_active_remains() {
        let text = "# A <b>task</b>\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) [y](https://h/?a&b) ![i](http://h/i.png)\n\n- `a<b`";
        let found = markdown(text);
        for active in ["<script", "<b>", "javascript:", "<img", "i.png"] {
            assert!(!found.contains(active), "{active} in {found}");
        }
        for kept in ["<h3>A &lt;b&gt;task&lt;/b&gt;</h3>", "href=\"https://h/?a&amp;b\"", "<code>a&lt;b</code>"] {
            assert!(found.contains(kept), "{kept} is missing in {found}");
        }
    }
}
