//! Files and folders in memory, for parsers that need a path.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, memfd_create};
use tempfile::TempDir;

/// A file in memory. Its path is valid until it is dropped.
#[derive(Debug)]
pub struct MemoryFile {
    _file: File,
    path: PathBuf,
}

impl MemoryFile {
    /// Creates a file with this content.
    ///
    /// # Panics
    /// Panics if there is not enough memory.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let descriptor = memfd_create("fuzz", MemfdFlags::CLOEXEC).expect("memory for a file");
        let mut file = File::from(descriptor);
        file.write_all(bytes).expect("memory for a file's bytes");
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Self { _file: file, path }
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Creates a folder in memory, which is deleted when dropped.
///
/// # Panics
/// Panics if it cannot be created.
#[must_use]
pub fn memory_folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").expect("a folder in memory")
}
