//! Entry points for fuzzing: the packer reads files written by a lane, and possibly damaged files from disk.

pub use crate::pack::{pack, unpack};
