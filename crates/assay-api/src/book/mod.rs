//! The project's documentation as pages: the Markdown files of `docs/`, in the order of its index, rendered once, and
//! a search over their sections.
//!
//! Where to begin: `sources.rs`, the list of the files; then `render.rs`.

mod render;
mod search;
mod sources;

use std::sync::LazyLock;

pub(crate) use render::BookHeading;
pub(crate) use search::{BookHit, search};
pub(crate) use sources::image;

/// A page of the book.
#[derive(Debug)]
pub(crate) struct BookPage {
    /// Name of its file without the ending.
    pub(crate) name: &'static str,
    /// Its first heading.
    pub(crate) title: String,
    /// Its content below the title: HTML, escaped; addresses of other pages are relative.
    pub(crate) html: String,
    /// Its second-level headings.
    pub(crate) headings: Vec<BookHeading>,
    /// Its sections as text, for the search.
    sections: Vec<search::Section>,
}

static PAGES: LazyLock<Vec<BookPage>> = LazyLock::new(|| {
    let titles = sources::titles();
    sources::SOURCES.iter().map(|(name, text)| render::page(name, text, &titles)).collect()
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
