//! Writes a policy's files: each is new, readable by all users, and counted against one budget.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assay_model::{Sha256Digest, Sha256Writer};

use super::error::{IntakeError, io};
use super::limits::IntakeLimits;

const FILE_MODE: u32 = 0o644;
const BUFFER_BYTES: usize = 64 * 1024;

/// A sink that receives every byte read.
pub(super) trait Observer {
    fn update(&mut self, bytes: &[u8]);
}

impl Observer for () {
    fn update(&mut self, _: &[u8]) {}
}

/// The side on which a copy failed: reading or writing.
pub(super) enum CopyError {
    Read(std::io::Error),
    Refused(IntakeError),
}

/// Counts the written bytes.
#[derive(Debug, Default)]
pub(super) struct WriteCount {
    pub(super) files: usize,
    pub(super) bytes: u64,
}

impl WriteCount {
    /// Copies `source` to a new file at `path`, at most the rest of the limit; without a path, only counts.
    pub(super) fn copy(
        &mut self,
        source: &mut impl Read,
        path: Option<&Path>,
        limits: &IntakeLimits,
        observer: &mut impl Observer,
    ) -> Result<(), CopyError> {
        let at = |error| CopyError::Refused(io(path.unwrap_or(Path::new("")))(error));
        let mut file = path.map(create).transpose().map_err(at)?;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let n = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(CopyError::Read(error)),
            };
            self.bytes += n as u64;
            if self.bytes > limits.unpacked_bytes {
                return Err(CopyError::Refused(IntakeError::TooLargeUnpacked {
                    what: limits.content,
                    limit: limits.unpacked_bytes,
                }));
            }
            observer.update(&buffer[..n]);
            if let Some(file) = &mut file {
                file.write_all(&buffer[..n]).map_err(at)?;
            }
        }
        self.files += 1;
        Ok(())
    }
}

/// Reads `source` to its end. Returns the digest and the number of its bytes.
pub(super) fn hash_all(mut source: impl Read) -> std::io::Result<(Sha256Digest, u64)> {
    let (mut hash, mut bytes, mut buffer) = (Sha256Writer::default(), 0, vec![0; BUFFER_BYTES]);
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok((hash.finish(), bytes)),
            Ok(n) => {
                hash.update(&buffer[..n]);
                bytes += n as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn create(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    // Set explicitly, since the umask may restrict it: the jail's user reads the file through a hard link.
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    Ok(file)
}
