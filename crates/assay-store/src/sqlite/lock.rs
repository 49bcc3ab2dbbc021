//! Lock that limits a data folder to one server.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::open_error::OpenError;

const FILE_NAME: &str = "assay.lock";
/// Maximum number of bytes of the lock file that are shown.
const MAX_HOLDER_BYTES: u64 = 200;

/// Holds the data folder until dropped, or until the process ends in any way.
#[derive(Debug)]
pub struct DataLock {
    _file: File,
}

impl DataLock {
    /// Locks the folder for `holder` (such as `assay serve`).
    ///
    /// # Errors
    /// [`OpenError::Locked`] names the holder; [`OpenError::File`] if the lock file can't be used.
    pub fn take(folder: &Path, holder: &str) -> Result<Self, OpenError> {
        let path = folder.join(FILE_NAME);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
        let mut file = opened.map_err(|e| OpenError::file("open the lock file", &path, e))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(OpenError::Locked { folder: folder.to_owned(), holder: read_holder(&mut file) });
            }
            Err(e) => return Err(OpenError::file("lock", &path, e.into())),
        }
        let written = file.set_len(0).and_then(|()| writeln!(file, "{holder} (process {})", std::process::id()));
        written.map_err(|e| OpenError::file("write the lock file", &path, e))?;
        Ok(Self { _file: file })
    }
}

fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_HOLDER_BYTES).read_to_string(&mut text));
    let text = text.trim();
    if read.is_err() || text.is_empty() { "another process".to_owned() } else { text.to_owned() }
}
