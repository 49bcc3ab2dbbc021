//! Support for fuzz targets. A target is a function that processes untrusted bytes as the service does, and asserts the
//! invariants that hold for any input. Beyond "no panic, no hang, bounded memory" these are, for example, that an
//! archive which passed its checks unpacks to the files that were checked, or that packed evidence is restored to the
//! byte.
//!
//! The targets of a crate are in its module `fuzzing`, which is compiled for its tests and with the feature `fuzzing`;
//! those that need a running service are in the tests of `assay-api`. The workspace in the folder `fuzz` lists all of
//! them, with a program for each; `tools/fuzz` builds and runs them. The corpora in `fuzz/corpus` also run as ordinary
//! tests beside the targets, so inputs that once revealed a bug are regression tests.
//!
//! Where to begin: [`run_corpus`].

mod corpus;
mod memory;
mod pieces;
mod text;

pub use corpus::run_corpus;
pub use memory::{MemoryFile, memory_folder};
pub use pieces::{pair, pieces};
pub use text::with_text;
