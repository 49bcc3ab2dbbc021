//! A page of the book, rendered.

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
    pub(super) sections: Vec<BookSection>,
}

/// A heading of a page.
#[derive(Debug)]
pub(crate) struct BookHeading {
    /// Its anchor.
    pub(crate) id: String,
    pub(crate) text: String,
}

/// A section of a page, as text.
#[derive(Debug)]
pub(super) struct BookSection {
    /// Anchor of its heading; empty for the beginning of the page.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) text: String,
}
