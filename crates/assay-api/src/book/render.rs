//! A page of the book: Markdown to HTML without active content.

use std::collections::BTreeMap;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::design_notes::INDEX_NAME;
use super::page::{BookHeading, BookPage, BookSection};
use super::sources;

/// Folder of the pictures, as pages name it.
const IMAGES: &str = "images/";

/// Renders a page; `titles` are those of all pages by name.
pub(super) fn page(name: &'static str, text: &'static str, titles: &BTreeMap<&'static str, &'static str>) -> BookPage {
    let events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let mut renderer = BookRenderer {
        titles,
        out: Vec::new(),
        headings: Vec::new(),
        sections: Vec::new(),
        slugs: BTreeMap::new(),
        tables: 0,
    };
    let title = plain_title(titles.get(name).copied().unwrap_or(name));
    renderer.sections.push(BookSection { id: String::new(), title: title.clone(), text: String::new() });
    renderer.walk(events);
    let mut html = String::new();
    html::push_html(&mut html, renderer.out.into_iter());
    // The corner of a table is a cell, not the heading of a column.
    let html = html.replace("<th></th>", "<td></td>");
    BookPage { name, title, html, headings: renderer.headings, sections: renderer.sections }
}

struct BookRenderer<'a> {
    titles: &'a BTreeMap<&'static str, &'static str>,
    out: Vec<Event<'a>>,
    headings: Vec<BookHeading>,
    sections: Vec<BookSection>,
    /// Number of headings by slug.
    slugs: BTreeMap<String, usize>,
    tables: usize,
}

impl<'a> BookRenderer<'a> {
    fn walk(&mut self, events: Vec<Event<'a>>) {
        let mut events = events.into_iter();
        while let Some(event) = events.next() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    let inner: Vec<_> = events.by_ref().take_while(|event| !is_heading_end(event)).collect();
                    self.heading(level, inner);
                }
                Event::Start(Tag::Link { dest_url, .. }) => {
                    // Of a link to a file that the service does not have, the text remains.
                    let Some(target) = self.target(&dest_url) else { continue };
                    let inner: Vec<_> = events.by_ref().take_while(|event| !is_link_end(event)).collect();
                    self.link(&target, &dest_url, inner);
                }
                Event::End(TagEnd::Link) => {}
                Event::Start(Tag::Image { dest_url, .. }) => {
                    let inner: Vec<_> = events.by_ref().take_while(|event| !is_image_end(event)).collect();
                    self.image(&dest_url, &plain(&inner));
                }
                Event::Start(Tag::Table(alignment)) => {
                    self.tables += 1;
                    let label = format!("Table {}", self.tables);
                    let open = format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">");
                    self.out.push(Event::Html(open.into()));
                    self.out.push(Event::Start(Tag::Table(alignment)));
                }
                Event::End(TagEnd::Table) => {
                    self.out.push(Event::End(TagEnd::Table));
                    self.out.push(Event::Html("</div>\n".into()));
                }
                // The language of a block is for the check of the book.
                Event::Start(Tag::CodeBlock(_)) => {
                    self.out.push(Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)));
                }
                // Comments are for the check of the book, too; other HTML is shown as text.
                Event::Html(raw) | Event::InlineHtml(raw) if raw.trim_start().starts_with("<!--") => {}
                Event::Html(raw) | Event::InlineHtml(raw) => self.push(Event::Text(raw)),
                Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
                other => self.push(other),
            }
        }
    }

    /// Adds an event, and its text to the section.
    fn push(&mut self, event: Event<'a>) {
        if let Some(section) = self.sections.last_mut() {
            match &event {
                Event::Text(text) | Event::Code(text) => section.text.push_str(text),
                Event::SoftBreak | Event::HardBreak | Event::End(_) => section.text.push(' '),
                _ => {}
            }
        }
        self.out.push(event);
    }

    fn heading(&mut self, level: HeadingLevel, inner: Vec<Event<'a>>) {
        if level == HeadingLevel::H1 {
            // The frame of the page has the title.
            return;
        }
        let text = plain(&inner);
        let id = self.slug(&text);
        if level == HeadingLevel::H2 {
            self.headings.push(BookHeading { id: id.clone(), text: text.clone() });
        }
        self.sections.push(BookSection { id: id.clone(), title: text, text: String::new() });
        let tag = Tag::Heading { level, id: Some(id.clone().into()), classes: Vec::new(), attrs: Vec::new() };
        self.out.push(Event::Start(tag));
        self.out.extend(inner.into_iter().filter(|event| !matches!(event, Event::Start(_) | Event::End(_))));
        self.out.push(Event::End(TagEnd::Heading(level)));
    }

    /// Returns the anchor that GitHub gives a heading.
    fn slug(&mut self, text: &str) -> String {
        let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase();
        let count = self.slugs.entry(slug.clone()).or_default();
        *count += 1;
        if *count == 1 { slug } else { format!("{slug}-{}", *count - 1) }
    }

    /// Returns the address of a link's target; `None` for a file that the service does not have.
    fn target(&self, url: &str) -> Option<String> {
        if url.starts_with("https://") || url.starts_with("http://") || url.starts_with('#') {
            return Some(url.to_owned());
        }
        let (path, anchor) = url.split_once('#').map_or((url, None), |(path, anchor)| (path, Some(anchor)));
        let file = path.strip_prefix("docs/").or_else(|| path.strip_prefix("../")).unwrap_or(path);
        let name = match file.strip_prefix("design/") {
            Some("index.md") => INDEX_NAME,
            note => note.unwrap_or(file).strip_suffix(".md")?,
        };
        let known = self.titles.keys().find(|known| **known == name || known.to_uppercase() == name)?;
        Some(anchor.map_or_else(|| (*known).to_owned(), |anchor| format!("{known}#{anchor}")))
    }

    fn link(&mut self, target: &str, written: &str, inner: Vec<Event<'a>>) {
        let tag = Tag::Link {
            link_type: pulldown_cmark::LinkType::Inline,
            dest_url: target.to_owned().into(),
            title: CowStr::from(""),
            id: CowStr::from(""),
        };
        self.out.push(Event::Start(tag));
        // A file name as the text of a link stands for the title of the page.
        let title = self.titles.get(target.split('#').next().unwrap_or_default());
        match title {
            Some(title) if plain(&inner) == written.split('#').next().unwrap_or_default() => {
                self.push(Event::Text(plain_title(title).into()));
            }
            _ => inner.into_iter().for_each(|event| self.push(event)),
        }
        self.out.push(Event::End(TagEnd::Link));
    }

    fn image(&mut self, url: &str, words: &str) {
        let Some(name) = url.strip_prefix(IMAGES).filter(|name| sources::image(name).is_some()) else { return };
        let tag = Tag::Image {
            link_type: pulldown_cmark::LinkType::Inline,
            dest_url: format!("images/{name}").into(),
            title: CowStr::from(""),
            id: CowStr::from(""),
        };
        self.out.push(Event::Start(tag));
        self.out.push(Event::Text(words.to_owned().into()));
        self.out.push(Event::End(TagEnd::Image));
    }
}

/// Returns the text of events.
fn plain(events: &[Event<'_>]) -> String {
    let text = |event: &Event<'_>| match event {
        Event::Text(text) | Event::Code(text) => Some(text.to_string()),
        Event::SoftBreak => Some(" ".to_owned()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

fn plain_title(title: &str) -> String {
    title.replace('`', "")
}

fn is_heading_end(event: &Event<'_>) -> bool {
    matches!(event, Event::End(TagEnd::Heading(_)))
}

fn is_link_end(event: &Event<'_>) -> bool {
    matches!(event, Event::End(TagEnd::Link))
}

fn is_image_end(event: &Event<'_>) -> bool {
    matches!(event, Event::End(TagEnd::Image))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::page;

    const TEXT: &str = "# Title `x`\n<!-- unchecked: y -->\n\n## A `b` & c: d\n\n<b>raw</b> [stl.md](stl.md#words) \
        [gone](../packaging/x.yaml) [out](https://a.test/?b&c) [bad](javascript:alert(1)) ![p](https://a.test/p.png)\n\n\
        ## A `b` & c: d\n\n```python\n<script>\n```\n\n| a | |\n|---|---|\n| [x](index.md) | 2 |\n";

    #[test]
    fn links_anchors_and_raw_html() {
        let titles = BTreeMap::from([("stl", "Signal `temporal` logic"), ("index", "assay"), ("x", "Title `x`")]);
        let found = page("x", TEXT, &titles);
        assert_eq!(found.title, "Title x");
        let ids: Vec<_> = found.headings.iter().map(|heading| &*heading.id).collect();
        assert_eq!(ids, ["a-b--c-d", "a-b--c-d-1"]);
        for part in [
            "<h2 id=\"a-b--c-d\">",
            "&lt;b&gt;raw&lt;/b&gt;",
            "<a href=\"stl#words\">Signal temporal logic</a>",
            "gone",
            "<a href=\"https://a.test/?b&amp;c\">out</a>",
            "bad",
            "&lt;script&gt;",
            "aria-label=\"Table 1\"",
            "<a href=\"index\">x</a>",
            "<th>a</th><td></td>",
        ] {
            assert!(found.html.contains(part), "{part} is missing in {}", found.html);
        }
        for part in ["<b>", "<!--", "unchecked", "<script", "javascript:", "<img", "x.yaml", "<h1"] {
            assert!(!found.html.contains(part), "{part} in {}", found.html);
        }
    }
}
