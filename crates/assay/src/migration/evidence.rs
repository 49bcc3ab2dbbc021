//! Evidence and policy archives: stored in the new place and read back from it.

use std::future::ready;
use std::path::Path;

use anyhow::{Context, anyhow};
use assay_model::{JobId, Sha256Digest};
use assay_store::{ArchiveFileError, BlobError, Blobs, RecordsCopy, StoreError};
use assay_worker::Cancel;
use futures_util::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;

use crate::backup::BLOBS;
use crate::service::file_storage::FileStorage;

/// Maximum number of files that are stored or read at the same time.
const CONCURRENT: usize = 8;

/// A file of the records.
#[derive(Debug)]
pub(super) enum RecordedFile {
    /// A job's artifact, by its hash.
    Artifact(JobId, Sha256Digest),
    /// A policy's archive, by its path.
    Archive(String),
}

/// The state of a file in the new place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    Intact,
    Damaged,
    Missing,
}

impl RecordedFile {
    /// Returns all files that the records name.
    pub(super) fn all(records: &RecordsCopy) -> Result<Vec<Self>, StoreError> {
        let archives = records.policy_paths()?.into_iter().map(Self::Archive);
        let artifacts = records.evidence()?.into_iter().map(|(job, sha256)| Self::Artifact(job, sha256));
        Ok(archives.chain(artifacts).collect())
    }

    /// Returns its path in a data folder.
    fn path(&self) -> String {
        match self {
            Self::Artifact(job, sha256) => format!("{BLOBS}/{}", Blobs::relative_paths(*job, *sha256)[0]),
            Self::Archive(path) => path.clone(),
        }
    }

    /// Stores the file of the old data folder, and reads it back.
    async fn migrate(&self, from: &Path, to: &FileStorage) -> anyhow::Result<FileState> {
        let is_intact = match self {
            Self::Artifact(job, sha256) => match to.blobs.adopt(&from.join(BLOBS), *job, *sha256).await {
                Err(BlobError::Missing) => return Ok(FileState::Missing),
                stored => {
                    stored?;
                    to.blobs.is_intact(*job, *sha256).await?
                }
            },
            Self::Archive(path) => match to.archives.adopt(from, path).await {
                Err(ArchiveFileError::Missing) => return Ok(FileState::Missing),
                stored => {
                    stored?;
                    to.archives.is_intact(path).await?
                }
            },
        };
        Ok(if is_intact { FileState::Intact } else { FileState::Damaged })
    }
}

/// Migrates the files from the data folder `from`, and returns the problems. `None` if it was cancelled.
pub(super) async fn migrate(
    files: &[RecordedFile],
    from: &Path,
    to: &FileStorage,
    bar: &ProgressBar,
    cancel: &Cancel,
) -> anyhow::Result<Option<Vec<String>>> {
    bar.set_length(files.len() as u64);
    let migrate = async |file: &RecordedFile| {
        let state = file.migrate(from, to).await.with_context(|| format!("can't migrate {}", file.path()));
        bar.inc(1);
        if cancel.is_cancelled() {
            return Err(anyhow!("interrupted"));
        }
        Ok(match state? {
            FileState::Intact => None,
            FileState::Missing => Some(format!("{}: not found in the old data folder", file.path())),
            FileState::Damaged => Some(format!("{}: its content does not have the SHA-256 in its name", file.path())),
        })
    };
    let all = stream::iter(files.iter().map(migrate)).buffer_unordered(CONCURRENT);
    let mut problems: Vec<String> = match all.try_filter_map(|problem| ready(Ok(problem))).try_collect().await {
        Err(_) if cancel.is_cancelled() => return Ok(None),
        problems => problems?,
    };
    problems.sort();
    Ok(Some(problems))
}
