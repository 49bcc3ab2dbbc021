//! File operations of the evidence folder: files are stored completely or not at all, packed in place, listed and
//! removed.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use assay_model::{JobId, Sha256Digest};
use tempfile::NamedTempFile;

use super::names::{self, PACKED};
use super::packed_file;

/// Number of times that a job's folder may be removed or filled concurrently before an operation fails.
const MAX_TRIES: u32 = 4;

/// Stores a file at `to`.
pub(super) fn store(from: &Path, to: &Path, incoming: &Path) -> io::Result<()> {
    if to.with_extension(&PACKED[1..]).exists() || link(from, to)? {
        return Ok(());
    }
    write_atomically(to, incoming, |file| io::copy(&mut File::open(from)?, file).map(drop))
}

/// Replaces the file at `stored` with a packed one, if that is smaller.
pub(super) fn replace_with_packed(stored: &Path, incoming: &Path) -> io::Result<()> {
    let packed = match packed_file::packed(stored) {
        Ok(Some(packed)) => packed,
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        // The file would not become smaller, was packed before, or was removed.
        _ => return Ok(()),
    };
    let mut file = NamedTempFile::new_in(incoming)?;
    file.write_all(&packed)?;
    file.as_file().sync_all()?;
    match replace(stored, file) {
        // The folder was erased concurrently.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        replaced => replaced,
    }
}

fn replace(stored: &Path, packed: NamedTempFile) -> io::Result<()> {
    let to = stored.with_extension(&PACKED[1..]);
    packed.persist(&to)?;
    stored.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())?;
    match fs::remove_file(stored) {
        // The artifact was erased concurrently, by a thread that did not know of the packed file.
        Err(error) if error.kind() == ErrorKind::NotFound => fs::remove_file(to),
        removed => removed,
    }
}

/// Writes a file to the folder of incoming files, which are deleted after a kill, and moves it once it is durable.
pub(super) fn write_atomically(
    to: &Path,
    incoming: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = NamedTempFile::new_in(incoming)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    for _ in 1..MAX_TRIES {
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        file = match file.persist(to) {
            Ok(_) => return Ok(()),
            // The folder was empty and was removed concurrently.
            Err(error) if error.error.kind() == ErrorKind::NotFound => error.file,
            Err(error) => return Err(error.error),
        };
    }
    file.persist(to).map(drop).map_err(|error| error.error)
}

/// Creates a hard link to a file, once the file is durable. Returns `false` if it must be copied instead: from another
/// file system, or on one without hard links.
fn link(from: &Path, to: &Path) -> io::Result<bool> {
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

/// Removes a file, if there is one.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    existing(fs::remove_file(path)).map(drop)
}

/// Removes a folder, if it exists and is empty.
pub(super) fn remove_if_empty(folder: &Path) -> io::Result<()> {
    match fs::remove_dir(folder) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => existing(removed).map(drop),
    }
}

/// Removes a job's folder with everything in it.
pub(super) fn remove_folder(folder: &Path) -> io::Result<()> {
    for _ in 1..MAX_TRIES {
        match fs::remove_dir_all(folder) {
            // A packed file was added concurrently.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {}
            removed => return existing(removed).map(drop),
        }
    }
    existing(fs::remove_dir_all(folder)).map(drop)
}

/// Removes the files of a job's folder except those with the hashes `kept`.
pub(super) fn retain(folder: &Path, kept: &HashSet<Sha256Digest>) -> io::Result<()> {
    let Some(entries) = existing(fs::read_dir(folder))? else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_str().and_then(names::sha256_of).is_some_and(|sha256| kept.contains(&sha256)) {
            remove(&entry.path())?;
        }
    }
    remove_if_empty(folder)
}

/// Returns the disk usage of each job's folder, in bytes.
pub(super) fn usage(jobs: &Path) -> io::Result<HashMap<JobId, u64>> {
    let mut usage = HashMap::new();
    let Some(folders) = existing(fs::read_dir(jobs))? else { return Ok(usage) };
    for folder in folders {
        let folder = folder?;
        let Some(job) = folder.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Some(entries) = existing(fs::read_dir(folder.path()))? else { continue };
        for entry in entries {
            if let Some(metadata) = existing(entry?.metadata())? {
                *usage.entry(job).or_default() += metadata.len();
            }
        }
    }
    Ok(usage)
}

/// Converts a missing file or folder to `None`: it does not exist, or was removed concurrently.
fn existing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}
