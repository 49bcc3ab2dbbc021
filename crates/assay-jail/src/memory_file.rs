//! Files that exist only in memory.

use std::io::Write;
use std::os::fd::OwnedFd;

use crate::SpawnError;
use crate::spawn_error::io;

/// Returns an anonymous file with `bytes`, from which a started program reads its filters.
pub(crate) fn memory_file(bytes: &[u8]) -> Result<OwnedFd, SpawnError> {
    let fd = rustix::fs::memfd_create("seccomp", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|error| io("create a file in memory")(error.into()))?;
    let mut file = std::fs::File::from(fd);
    file.write_all(bytes).map_err(io("write the filter"))?;
    std::io::Seek::rewind(&mut file).map_err(io("rewind the filter"))?;
    Ok(file.into())
}
