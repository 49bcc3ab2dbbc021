//! The crate from the outside: worlds built from scenarios on disk.

mod common;
mod disturbed;
mod library;
mod modes;
mod motion;
mod panda;
mod refused;
