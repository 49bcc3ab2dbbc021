//! Entry points for fuzzing: the packer reads files that a lane wrote, and what a disk returns.

pub use crate::pack::{pack, unpack};
