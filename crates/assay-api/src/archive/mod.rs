//! The archive of a job: everything about it in one zip file, as `assay verify --out` writes it to a folder. It is
//! never stored: the entries are sent one after the other as they are read.
//!
//! Where to begin: [`send`].

mod contents;
mod download;
mod zip_stream;

pub(crate) use self::contents::ArchiveParts;
pub(crate) use self::download::send;
