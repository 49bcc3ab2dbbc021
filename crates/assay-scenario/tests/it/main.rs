//! The crate from the outside: scenarios on disk, right and wrong ones.

mod broken;
mod digest;
mod draw;
mod folder;
mod images;
mod library;
mod schema;
mod tables;
mod worlds;
