//! The project's documentation as pages: the Markdown files of `docs/`, in the order of its index, rendered once, and
//! a search over their sections.
//!
//! Where to begin: `sources.rs`, the list of the files; then `render.rs`.

mod page;
mod pages;
mod render;
mod search;
mod sources;

pub(crate) use page::BookPage;
pub(crate) use pages::{page, pages, section};
pub(crate) use search::{BookHit, search};
pub(crate) use sources::image;
