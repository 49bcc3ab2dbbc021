//! Error of opening or copying the records of a data folder.

use std::path::PathBuf;
use std::sync::Arc;

use crate::StoreError;

/// The records of a data folder could not be opened or copied.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process holds the data folder.
    #[error("the data folder {} is in use by {holder}; stop it first or choose another folder", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// The holder's entry in the lock file.
        holder: String,
    },
    /// A newer assay wrote this database.
    #[error(
        "the database {} has schema {found}, this version knows up to {known}: use a newer assay, or restore the copy \
         that was made before the upgrade ({}.before-v{found})",
        file.display(),
        file.display()
    )]
    NewerSchema {
        /// The database file.
        file: PathBuf,
        /// Its schema version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// An older assay wrote this database, and another process holds the data folder, so it cannot be migrated now.
    #[error("the database {} has schema {found} and must be migrated to {known} first: restart the server", file.display())]
    OlderSchema {
        /// The database file.
        file: PathBuf,
        /// Its schema version.
        found: u32,
        /// The version needed.
        known: u32,
    },
    /// A file of the data folder could not be used.
    #[error("could not {doing} {}", path.display())]
    File {
        /// The operation.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenError {
    pub(super) fn file(doing: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::File { doing, path: path.into(), source: Arc::new(source) }
    }
}
