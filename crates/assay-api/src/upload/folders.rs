//! The subfolders of the data folder that uploads are stored in.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use assay_store::ArchiveFiles;

/// The folder of archives that are being received.
pub(super) const UPLOADS: &str = "uploads";

/// An error while preparing the data folder.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare the folder {}", path.display())]
pub struct PrepareError {
    /// The folder.
    pub path: PathBuf,
    /// The cause.
    #[source]
    pub source: std::io::Error,
}

/// Creates the folders that uploads need.
///
/// # Errors
/// [`PrepareError`] names the folder.
pub fn prepare_folders(data: &Path) -> Result<(), PrepareError> {
    for name in [UPLOADS, ArchiveFiles::FOLDER] {
        let path = data.join(name);
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&path);
        created.map_err(|source| PrepareError { path, source })?;
    }
    Ok(())
}

/// Deletes partial uploads of a server that was killed. To be called at start, by a server that has the data folder for
/// itself.
///
/// # Errors
/// [`PrepareError`] names the folder.
pub fn remove_partial_uploads(data: &Path) -> Result<(), PrepareError> {
    let uploads = data.join(UPLOADS);
    let swept = std::fs::read_dir(&uploads)
        .and_then(|mut entries| entries.try_for_each(|entry| std::fs::remove_file(entry?.path())));
    swept.map_err(|source| PrepareError { path: uploads, source })
}
