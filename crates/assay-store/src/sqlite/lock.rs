//! Lock of a data folder: one server has it for itself, or several whose records are elsewhere share it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::open_error::OpenError;

const FILE_NAME: &str = "assay.lock";
/// Maximum number of bytes of the lock file that are shown.
const MAX_HOLDER_BYTES: u64 = 200;

/// Time for which a server waits for another one that is starting and still has the folder for itself.
const START: Duration = Duration::from_secs(10);
/// Interval at which it looks again.
const LOOK: Duration = Duration::from_millis(100);

/// Holds the data folder until dropped, or until the process ends in any way.
#[derive(Debug)]
pub struct DataLock {
    file: File,
    is_exclusive: bool,
}

impl DataLock {
    /// Locks the folder for `holder` (such as `assay serve`) alone.
    ///
    /// # Errors
    /// [`OpenError::Locked`] names the holder; [`OpenError::File`] if the lock file can't be used.
    pub fn take(folder: &Path, holder: &str) -> Result<Self, OpenError> {
        let path = folder.join(FILE_NAME);
        let mut file = open(&path)?;
        if !try_lock(&file, &path, FlockOperation::NonBlockingLockExclusive)? {
            return Err(OpenError::Locked { folder: folder.to_owned(), holder: read_holder(&mut file) });
        }
        Self { file, is_exclusive: true }.signed(&path, holder)
    }

    /// Locks the folder for one of several servers. The first has it for itself until it calls [`Self::share`], so that
    /// it can remove what servers that were killed have left. Waits a few seconds for one that is starting.
    ///
    /// # Errors
    /// As [`Self::take`]; [`OpenError::Locked`] if a program has the folder that does not share it.
    pub fn join(folder: &Path, holder: &str) -> Result<Self, OpenError> {
        let (path, begun) = (folder.join(FILE_NAME), Instant::now());
        let mut file = open(&path)?;
        loop {
            if try_lock(&file, &path, FlockOperation::NonBlockingLockExclusive)? {
                return Self { file, is_exclusive: true }.signed(&path, holder);
            }
            if try_lock(&file, &path, FlockOperation::NonBlockingLockShared)? {
                return Ok(Self { file, is_exclusive: false });
            }
            if begun.elapsed() > START {
                return Err(OpenError::Locked { folder: folder.to_owned(), holder: read_holder(&mut file) });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Returns whether no other server can have the folder now.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.is_exclusive
    }

    /// Lets other servers [`Self::join`].
    ///
    /// # Errors
    /// [`OpenError::File`] if the lock file can't be used.
    pub fn share(&mut self, folder: &Path) -> Result<(), OpenError> {
        let path = folder.join(FILE_NAME);
        flock(&self.file, FlockOperation::LockShared).map_err(|e| OpenError::file("lock", &path, e.into()))?;
        self.is_exclusive = false;
        Ok(())
    }

    /// Writes the holder to the lock file.
    fn signed(mut self, path: &Path, holder: &str) -> Result<Self, OpenError> {
        let written = self.file.set_len(0).and_then(|()| self.file.rewind());
        let written = written.and_then(|()| writeln!(self.file, "{holder} (process {})", std::process::id()));
        written.map_err(|e| OpenError::file("write the lock file", path, e))?;
        Ok(self)
    }
}

fn open(path: &Path) -> Result<File, OpenError> {
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    opened.map_err(|e| OpenError::file("open the lock file", path, e))
}

/// Returns false if another process holds the lock.
fn try_lock(file: &File, path: &Path, operation: FlockOperation) -> Result<bool, OpenError> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(e) => Err(OpenError::file("lock", path, e.into())),
    }
}

fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_HOLDER_BYTES).read_to_string(&mut text));
    let text = text.trim();
    if read.is_err() || text.is_empty() { "another process".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn several_servers_share_a_folder_that_no_other_program_has() {
        let data = tempfile::tempdir().unwrap();
        let mut first = DataLock::join(data.path(), "assay serve").unwrap();
        assert!(first.is_exclusive(), "nobody else can have files there");
        first.share(data.path()).unwrap();
        let second = DataLock::join(data.path(), "assay serve").unwrap();
        assert!(!first.is_exclusive() && !second.is_exclusive());
        let refused = DataLock::take(data.path(), "assay backup").unwrap_err().to_string();
        assert!(refused.contains("in use by assay serve (process"), "{refused}");
        drop(first);
        assert!(!DataLock::join(data.path(), "assay serve").unwrap().is_exclusive());
        drop(second);
        let alone = DataLock::take(data.path(), "assay backup").unwrap();
        let refused = DataLock::join(data.path(), "assay serve").unwrap_err().to_string();
        assert!(refused.contains("in use by assay backup (process"), "{refused}");
        drop(alone);
    }
}
