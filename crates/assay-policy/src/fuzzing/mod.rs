//! The fuzz targets of policies: their archives and files, the frames of their processes, and the answers of policy
//! servers.

mod answers;
mod archive;
mod frames;
mod source;

pub use answers::{http_answer, openpi};
pub use archive::archive;
pub use frames::{policy, relay};
pub use source::{checkpoint, source};
