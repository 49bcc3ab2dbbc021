//! All pages of the book, rendered once.

use std::sync::LazyLock;

use super::page::BookPage;
use super::{render, sources};

static PAGES: LazyLock<Vec<BookPage>> = LazyLock::new(|| {
    let titles = sources::titles();
    sources::all().map(|(name, text)| render::page(name, text, &titles)).collect()
});

/// Returns all pages, in the order of the index, which is the first.
pub(crate) fn pages() -> &'static [BookPage] {
    &PAGES
}

/// Returns the content of the section with this anchor, up to the next heading of its level: HTML, escaped.
pub(crate) fn section(page_name: &str, id: &str) -> Option<&'static str> {
    let (_, rest) = page(page_name)?.html.split_once(&format!("<h2 id=\"{id}\">"))?;
    let (_, content) = rest.split_once("</h2>")?;
    content.split("<h2").next()
}

/// Returns the page with this name.
pub(crate) fn page(name: &str) -> Option<&'static BookPage> {
    pages().iter().find(|page| page.name == name)
}

#[cfg(test)]
mod tests {
    use super::{page, pages};

    #[test]
    fn every_link_within_the_book_has_its_target() {
        for shown in pages() {
            for part in shown.html.split("href=\"").skip(1) {
                let url = part.split('"').next().unwrap_or_default();
                if url.starts_with("http") {
                    continue;
                }
                let (name, anchor) = url.split_once('#').unwrap_or((url, ""));
                let target = if name.is_empty() { Some(shown) } else { page(name) };
                let found = target
                    .is_some_and(|target| anchor.is_empty() || target.html.contains(&format!(" id=\"{anchor}\"")));
                assert!(found, "{}: {url}", shown.name);
            }
            assert!(!shown.title.is_empty() && shown.html.len() > 100, "{}", shown.name);
        }
    }
}
