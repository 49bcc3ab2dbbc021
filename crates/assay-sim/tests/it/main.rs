//! The crate from the outside: worlds built from scenarios on disk.

mod common;
mod library;
mod motion;
mod panda;
mod refused;
