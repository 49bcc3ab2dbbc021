//! Copying and hashing of files, with their permissions.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use assay_model::{Sha256Digest, Sha256Writer};

use super::backup_file::BackupFile;

/// Size of the read buffer, in bytes.
const BUFFER_BYTES: usize = 256 << 10;
/// Permission bits of a file mode.
const PERMISSIONS: u32 = 0o777;

/// Copies the file `path` of the folder `from` to the same path in `to`, and creates its parent folders with the same
/// permissions. Returns `None` if the file does not exist.
pub(super) fn copy(from: &Path, to: &Path, path: &str) -> io::Result<Option<BackupFile>> {
    let source = match open(&from.join(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        source => source?,
    };
    let mode = source.metadata()?.permissions().mode() & PERMISSIONS;
    make_parents(from, to, Path::new(path))?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to.join(path))?;
    let (size_bytes, sha256) = read_through(source, |piece| file.write_all(piece))?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(Some(BackupFile { path: path.to_owned(), size_bytes, sha256: Some(sha256), mode: format!("{mode:o}") }))
}

/// Returns the size and SHA-256 of a file.
pub(super) fn hash(path: &Path) -> io::Result<(u64, Sha256Digest)> {
    read_through(open(path)?, |_| Ok(()))
}

/// Reads a regular file of at most `max_bytes` bytes.
pub(super) fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes { Err(io::Error::other("the file is too large")) } else { Ok(bytes) }
}

/// Returns the manifest entry of a file that is already in the backup.
pub(super) fn entry(folder: &Path, path: &str) -> io::Result<BackupFile> {
    let (size_bytes, sha256) = hash(&folder.join(path))?;
    let mode = folder.join(path).metadata()?.permissions().mode() & PERMISSIONS;
    Ok(BackupFile { path: path.to_owned(), size_bytes, sha256: Some(sha256), mode: format!("{mode:o}") })
}

/// Returns the permissions of an entry, or owner-only access if they are invalid.
pub(super) fn permissions(entry: &BackupFile) -> Permissions {
    Permissions::from_mode(u32::from_str_radix(&entry.mode, 8).map_or(0o600, |mode| mode & PERMISSIONS))
}

/// Returns everything below `path` in `root`, as files (anything that is not a folder) and folders, with paths relative
/// to `root`. Both are empty if the folder does not exist.
pub(super) fn walk(root: &Path, path: &Path) -> io::Result<(Vec<String>, Vec<PathBuf>)> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = match fs::read_dir(root.join(&folder)) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let inside = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                open.push(inside);
            } else {
                files.push(inside.to_string_lossy().into_owned());
            }
        }
        folders.push(folder);
    }
    files.sort();
    folders.sort();
    Ok((files, folders))
}

/// Creates the folder `path` in `to`, and its parents, with the permissions that they have in `from`.
pub(super) fn make_folder(from: &Path, to: &Path, path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || to.join(path).is_dir() {
        return Ok(());
    }
    make_parents(from, to, path)?;
    let mode = fs::metadata(from.join(path))?.permissions().mode() & PERMISSIONS;
    DirBuilder::new().mode(0o700).create(to.join(path))?;
    fs::set_permissions(to.join(path), Permissions::from_mode(mode))
}

fn make_parents(from: &Path, to: &Path, path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| make_folder(from, to, parent))
}

/// Opens a regular file. Opening a pipe would block, and a link may lead out of the folder.
fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from((rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits());
    let file = OpenOptions::new().read(true).custom_flags(flags.map_err(io::Error::other)?).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// Passes the content of a file to `write` piece by piece, and returns its size and SHA-256.
fn read_through(mut file: File, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<(u64, Sha256Digest)> {
    let (mut hash, mut length, mut buffer) = (Sha256Writer::default(), 0, vec![0; BUFFER_BYTES]);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((length, hash.finish()));
        }
        hash.update(&buffer[..count]);
        write(&buffer[..count])?;
        length += count as u64;
    }
}
