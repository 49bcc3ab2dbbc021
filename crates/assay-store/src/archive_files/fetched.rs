//! Local copies of archives in an object store. Shards of a job follow each other, so the last few are kept.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_model::Sha256Writer;
use futures_util::TryStreamExt;
use tempfile::TempPath;
use tokio::io::AsyncWriteExt;
use tokio::sync::OnceCell;

use super::ArchiveFileError;
use super::names::sha256_of;
use crate::ObjectStorage;

/// Number of copies kept after their last use.
const MAX_KEPT: usize = 16;

/// A copy, which is deleted when it is dropped.
#[derive(Debug)]
pub(super) struct FetchedArchive(TempPath);

/// A copy, or the place of one that is being fetched: the first caller fetches it, and the others wait.
type ArchiveCell = OnceCell<Arc<FetchedArchive>>;

/// The kept copies, the most recently used last.
#[derive(Debug)]
pub(super) struct FetchedArchives {
    folder: PathBuf,
    kept: Mutex<VecDeque<(String, Arc<ArchiveCell>)>>,
}

impl FetchedArchive {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl FetchedArchives {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), kept: Mutex::default() }
    }

    /// Returns the copy of the archive with this path.
    pub(super) async fn open(
        &self,
        storage: &ObjectStorage,
        path: &str,
    ) -> Result<Arc<FetchedArchive>, ArchiveFileError> {
        let cell = self.cell(path);
        cell.get_or_try_init(|| self.fetch(storage, path)).await.map(Arc::clone)
    }

    /// Forgets the copy of an archive that is removed.
    pub(super) fn forget(&self, path: &str) {
        self.lock().retain(|(kept, _)| kept != path);
    }

    fn cell(&self, path: &str) -> Arc<ArchiveCell> {
        let mut kept = self.lock();
        let known = kept.iter().position(|(kept, _)| kept == path).and_then(|index| kept.remove(index));
        let (path, cell) = known.unwrap_or_else(|| (path.to_owned(), Arc::default()));
        kept.push_back((path, Arc::clone(&cell)));
        if kept.len() > MAX_KEPT {
            kept.pop_front();
        }
        cell
    }

    async fn fetch(&self, storage: &ObjectStorage, path: &str) -> Result<Arc<FetchedArchive>, ArchiveFileError> {
        let expected = sha256_of(path).ok_or(ArchiveFileError::Missing)?;
        let mut pieces = storage.read(path, None).await?;
        let (file, place) = tempfile::Builder::new().suffix(".zip").tempfile_in(&self.folder)?.into_parts();
        let (mut file, mut found) = (tokio::fs::File::from_std(file), Sha256Writer::default());
        while let Some(piece) = pieces.try_next().await? {
            found.update(&piece);
            file.write_all(&piece).await?;
        }
        file.flush().await?;
        match found.finish() == expected {
            true => Ok(Arc::new(FetchedArchive(place))),
            false => Err(ArchiveFileError::Damaged),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, Arc<ArchiveCell>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
