//! The files of a folder of artifacts: put there whole or not at all, and made smaller in their place.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path as FilePath;

use tempfile::NamedTempFile;

use super::PACKED;
use crate::pack;

/// Times that the folder of a job may go between its making and its use.
const MAX_TRIES: u32 = 4;
/// Bytes of a file that tell what it is.
const MAGIC_BYTES: u64 = 16;

/// Keeps a file at `to`.
pub(super) fn keep(from: &FilePath, to: &FilePath, incoming: &FilePath) -> io::Result<()> {
    if to.with_extension(&PACKED[1..]).exists() || link(from, to)? {
        return Ok(());
    }
    place_whole(to, incoming, |file| io::copy(&mut File::open(from)?, file).map(drop))
}

/// Puts a packed file in the place of the one at `kept`.
pub(super) fn shrink(kept: &FilePath, incoming: &FilePath) -> io::Result<()> {
    let packed = match packed(kept) {
        Ok(Some(packed)) => packed,
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        // It gains nothing, was packed before, or is gone.
        _ => return Ok(()),
    };
    let mut file = NamedTempFile::new_in(incoming)?;
    file.write_all(&packed)?;
    file.as_file().sync_all()?;
    match replace(kept, file) {
        // The folder was erased meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        replaced => replaced,
    }
}

fn replace(kept: &FilePath, packed: NamedTempFile) -> io::Result<()> {
    let to = kept.with_extension(&PACKED[1..]);
    packed.persist(&to)?;
    kept.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())?;
    match fs::remove_file(kept) {
        // Somebody erased it meanwhile, and could not know of this.
        Err(error) if error.kind() == ErrorKind::NotFound => fs::remove_file(to),
        removed => removed,
    }
}

/// Writes a file where what a killed process leaves is removed, and moves it to its place when all of it is on the disk.
pub(super) fn place_whole(
    to: &FilePath,
    incoming: &FilePath,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(incoming)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    for _ in 1..MAX_TRIES {
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        file = match file.persist(to) {
            Ok(_) => return Ok(()),
            // The folder was empty, and went, a moment ago.
            Err(error) if error.error.kind() == ErrorKind::NotFound => error.file,
            Err(error) => return Err(error.error),
        };
    }
    file.persist(to).map(drop).map_err(|error| error.error)
}

/// Gives a file another name, once it is on the disk. `false`: it would have to be copied, from another file system or on
/// one that knows no second names.
fn link(from: &FilePath, to: &FilePath) -> io::Result<bool> {
    if to.exists() {
        return Ok(true);
    }
    File::open(from)?.sync_all()?;
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    match fs::hard_link(from, to) {
        Err(error) => Ok(error.kind() == ErrorKind::AlreadyExists),
        Ok(()) => Ok(true),
    }
}

/// The file, packed, if that makes it smaller.
fn packed(path: &FilePath) -> io::Result<Option<Vec<u8>>> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(MAGIC_BYTES).read_to_end(&mut head)?;
    if !pack::is_packable(&head) || file.metadata()?.len() > pack::MAX_BYTES {
        return Ok(None);
    }
    file.take(pack::MAX_BYTES).read_to_end(&mut head)?;
    Ok(pack::pack(&head))
}
