//! The project's documentation as pages: the Markdown files of `docs/`, in the order of its index, then its design
//! decisions, rendered once, and a search over their sections.
//!
//! Where to begin: `sources.rs`, the list of the files; then `render.rs`.

mod design_notes;
mod page;
mod pages;
mod render;
mod search;
mod sources;
mod title;

pub(crate) use page::BookPage;
pub(crate) use pages::{page, pages, section};
pub(crate) use search::{BookHit, search};
pub(crate) use sources::image;
