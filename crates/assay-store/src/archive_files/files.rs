//! Access to archives, wherever they are.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::{Sha256Digest, Sha256Writer};
use jiff::Timestamp;
use tempfile::NamedTempFile;

use super::archive_bucket::ArchiveBucket;
use super::archive_folder::ArchiveFolder;
use super::fetched::FetchedArchive;
use super::{ArchiveFileError, ArchiveRemovalOutcome, names};
use crate::ObjectStorage;

/// The archives of policies.
#[derive(Debug, Clone)]
pub struct ArchiveFiles(ArchivePlace);

#[derive(Debug, Clone)]
enum ArchivePlace {
    Folder(ArchiveFolder),
    Bucket(Arc<ArchiveBucket>),
}

/// An archive as a file of this machine. It stays as long as this value exists.
#[derive(Debug, Clone)]
pub struct ArchiveFile(OpenedArchive);

#[derive(Debug, Clone)]
enum OpenedArchive {
    Stored(PathBuf),
    Fetched(Arc<FetchedArchive>),
}

impl ArchiveFiles {
    /// Name of the folder in a data folder, and in a bucket.
    pub const FOLDER: &str = names::FOLDER;

    /// Returns the archives in the data folder `data`, in which the folder [`Self::FOLDER`] exists.
    #[must_use]
    pub fn folder(data: &Path) -> Self {
        Self(ArchivePlace::Folder(ArchiveFolder::new(data)))
    }

    /// Returns the archives in an object store. Copies are fetched to the local folder `copies`.
    #[must_use]
    pub fn bucket(storage: ObjectStorage, copies: &Path) -> Self {
        Self(ArchivePlace::Bucket(Arc::new(ArchiveBucket::new(storage, copies))))
    }

    /// Returns the path of the archive with this digest.
    #[must_use]
    pub fn path_of(sha256: Sha256Digest) -> String {
        names::path_of(sha256)
    }

    /// Returns the digest in the path of an archive, or `None` for any other path.
    #[must_use]
    pub fn sha256_of(path: &str) -> Option<Sha256Digest> {
        names::sha256_of(path)
    }

    /// Stores an archive with this digest, and returns its path. It is durable when this returns.
    ///
    /// # Errors
    /// [`ArchiveFileError`] if it cannot be stored.
    pub async fn put(&self, file: NamedTempFile, sha256: Sha256Digest) -> Result<String, ArchiveFileError> {
        let path = Self::path_of(sha256);
        match &self.0 {
            ArchivePlace::Folder(folder) => folder.put(file, path.clone()).await?,
            ArchivePlace::Bucket(bucket) => bucket.put(file.path(), &path).await?,
        }
        Ok(path)
    }

    /// Stores the archive with this path of the data folder `data`, unless it is stored already. The file there must
    /// never change afterwards, since it is stored as a hard link if possible. Its content is not checked; see
    /// [`Self::is_intact`].
    ///
    /// # Errors
    /// [`ArchiveFileError::Missing`] if `data` does not have it, or it cannot be stored.
    pub async fn adopt(&self, data: &Path, path: &str) -> Result<(), ArchiveFileError> {
        let file = data.join(path);
        match &self.0 {
            ArchivePlace::Folder(folder) => Ok(folder.adopt(file, path).await?),
            ArchivePlace::Bucket(bucket) => bucket.adopt(&file, path).await,
        }
    }

    /// Reads the archive with this path, and returns true if its content has the digest in its name.
    ///
    /// # Errors
    /// [`ArchiveFileError::Missing`], or it cannot be read.
    pub async fn is_intact(&self, path: &str) -> Result<bool, ArchiveFileError> {
        let stored = match self.open(path).await {
            Err(ArchiveFileError::Damaged) => return Ok(false),
            stored => stored?,
        };
        let hash = move || {
            let mut hash = Sha256Writer::default();
            io::copy(&mut File::open(stored.path())?, &mut hash)?;
            Ok::<_, io::Error>(hash.finish())
        };
        let found = tokio::task::spawn_blocking(hash).await.map_err(io::Error::other)??;
        Ok(Some(found) == Self::sha256_of(path))
    }

    /// Returns the archive with this path as a file of this machine.
    ///
    /// # Errors
    /// [`ArchiveFileError`] if it does not exist or cannot be fetched.
    pub async fn open(&self, path: &str) -> Result<ArchiveFile, ArchiveFileError> {
        Ok(ArchiveFile(match &self.0 {
            ArchivePlace::Folder(folder) => OpenedArchive::Stored(folder.place(path)),
            ArchivePlace::Bucket(bucket) => OpenedArchive::Fetched(bucket.open(path).await?),
        }))
    }

    /// Removes the archive with this path. The caller ensures that no job needs it, and that this process is not
    /// accepting one that does.
    ///
    /// # Errors
    /// [`ArchiveFileError`] if it cannot be removed.
    pub async fn remove(&self, path: &str, now: Timestamp) -> Result<ArchiveRemovalOutcome, ArchiveFileError> {
        match &self.0 {
            ArchivePlace::Folder(folder) => {
                folder.remove(path).await?;
                Ok(ArchiveRemovalOutcome::Removed)
            }
            ArchivePlace::Bucket(bucket) => bucket.remove(path, now).await,
        }
    }

    /// Lists the paths of all archives.
    ///
    /// # Errors
    /// [`ArchiveFileError`] if they cannot be listed.
    pub async fn list(&self) -> Result<Vec<String>, ArchiveFileError> {
        let found = match &self.0 {
            ArchivePlace::Folder(folder) => folder.names().await?,
            ArchivePlace::Bucket(bucket) => bucket.names().await?,
        };
        Ok(found.into_iter().map(|name| format!("{}/{name}", Self::FOLDER)).collect())
    }
}

impl ArchiveFile {
    /// Returns an archive that is a file at `path`, which its owner keeps.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self(OpenedArchive::Stored(path))
    }

    /// Returns its path on this machine.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.0 {
            OpenedArchive::Stored(path) => path,
            OpenedArchive::Fetched(fetched) => fetched.path(),
        }
    }
}
