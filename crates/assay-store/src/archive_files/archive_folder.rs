//! Archives in the data folder, the default.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

use super::names::FOLDER;

/// The archives in a data folder.
#[derive(Debug, Clone)]
pub(super) struct ArchiveFolder(Arc<Path>);

impl ArchiveFolder {
    pub(super) fn new(data: &Path) -> Self {
        Self(data.into())
    }

    pub(super) fn place(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    pub(super) async fn put(&self, file: NamedTempFile, path: String) -> io::Result<()> {
        let (path, folder) = (self.place(&path), self.place(FOLDER));
        tokio::task::spawn_blocking(move || persist(file, &path, &folder)).await.map_err(io::Error::other)?
    }

    pub(super) async fn adopt(&self, file: PathBuf, path: &str) -> io::Result<()> {
        let (path, folder) = (self.place(path), self.place(FOLDER));
        let store = move || match fs::hard_link(&file, &path) {
            // On another file system, or on one without hard links.
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) => {
                let mut copy = NamedTempFile::new_in(&folder)?;
                io::copy(&mut File::open(&file)?, &mut copy)?;
                persist(copy, &path, &folder)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        tokio::task::spawn_blocking(store).await.map_err(io::Error::other)?
    }

    pub(super) async fn remove(&self, path: &str) -> io::Result<()> {
        match tokio::fs::remove_file(self.place(path)).await {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) async fn names(&self) -> io::Result<Vec<String>> {
        let mut entries = tokio::fs::read_dir(self.place(FOLDER)).await?;
        let mut names = Vec::new();
        while let Some(entry) = entries.next_entry().await? {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }
}

/// Moves the file to `path` in `folder`, and syncs both to the disk. A new file gets its name first, so that the file
/// system writes one change instead of two; a partial one that a power failure leaves has no job and is removed at the
/// next start. A file of the same content may belong to another job: it is replaced by a file that is already synced.
fn persist(file: NamedTempFile, path: &Path, folder: &Path) -> io::Result<()> {
    match file.persist_noclobber(path) {
        Ok(kept) => kept.sync_all()?,
        Err(taken) if taken.error.kind() == ErrorKind::AlreadyExists => {
            taken.file.as_file().sync_all()?;
            taken.file.persist(path).map_err(|e| e.error)?;
        }
        Err(failed) => return Err(failed.error),
    }
    File::open(folder)?.sync_all()
}
