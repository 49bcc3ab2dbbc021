//! Files copied with their permissions, and their hashes.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use assay_model::{Sha256Digest, Sha256Writer};

use super::backup_file::BackupFile;

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;
/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o777;

/// Copies the file `path` of the folder `from` to the same place in `to`; folders above it are made as they are there.
/// `None`: there is none.
pub(super) fn copy(from: &Path, to: &Path, path: &str) -> io::Result<Option<BackupFile>> {
    let source = match open(&from.join(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        source => source?,
    };
    let mode = source.metadata()?.permissions().mode() & PERMISSIONS;
    make_parents(from, to, Path::new(path))?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to.join(path))?;
    let (size_bytes, sha256) = pass(source, |piece| file.write_all(piece))?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(Some(BackupFile { path: path.to_owned(), size_bytes, sha256: Some(sha256), mode: format!("{mode:o}") }))
}

/// Length and SHA-256 of a file.
pub(super) fn hash(path: &Path) -> io::Result<(u64, Sha256Digest)> {
    pass(open(path)?, |_| Ok(()))
}

/// A regular file of at most so many bytes.
pub(super) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(io::Error::other("too long")) } else { Ok(bytes) }
}

/// The entry of a file that is in its place.
pub(super) fn entry(folder: &Path, path: &str) -> io::Result<BackupFile> {
    let (size_bytes, sha256) = hash(&folder.join(path))?;
    let mode = folder.join(path).metadata()?.permissions().mode() & PERMISSIONS;
    Ok(BackupFile { path: path.to_owned(), size_bytes, sha256: Some(sha256), mode: format!("{mode:o}") })
}

/// The permissions that an entry has; those of a secret where it does not say.
pub(super) fn permissions(entry: &BackupFile) -> Permissions {
    Permissions::from_mode(u32::from_str_radix(&entry.mode, 8).map_or(0o600, |mode| mode & PERMISSIONS))
}

/// Files below `path` in `root` (whatever is no folder), and folders; paths relative to `root`. Nothing where there is
/// no such folder.
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

/// Makes the folder `path` of `to`, and those above it, with the permissions that they have in `from`.
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

/// Opens a regular file: a pipe would be waited for, and a link leads elsewhere.
fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from((rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits());
    let file = OpenOptions::new().read(true).custom_flags(flags.map_err(io::Error::other)?).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

fn pass(mut file: File, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<(u64, Sha256Digest)> {
    let (mut hash, mut length, mut buffer) = (Sha256Writer::default(), 0, vec![0; PIECE]);
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
