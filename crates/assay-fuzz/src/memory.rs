//! Files in memory, for parsers that need a path.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};

/// A file in memory. Its path is valid until it is dropped.
pub(crate) struct MemoryFile {
    _file: File,
    pub(crate) path: PathBuf,
}

impl MemoryFile {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        use std::os::fd::AsRawFd;
        let descriptor = memfd_create("fuzz", MemfdFlags::CLOEXEC).expect("memory for a file");
        let mut file = File::from(descriptor);
        file.write_all(bytes).expect("memory for a file's bytes");
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Self { _file: file, path }
    }
}
