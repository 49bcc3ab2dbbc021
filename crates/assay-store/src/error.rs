//! Why the records could not answer.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

/// A failure of the store itself. Expected outcomes (fenced, not found, already there) are values, not errors.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The engine failed: disk full, I/O error, locked for too long.
    #[error("the database failed while doing {doing}")]
    Database {
        /// The operation.
        doing: &'static str,
        /// Trying again later may help.
        transient: bool,
        /// What the engine says.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// A row holds something that this version cannot read.
    #[error("the {column} of {row} is not readable")]
    Corrupt {
        /// Which row.
        row: String,
        /// Which column.
        column: &'static str,
        /// Why.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// There is a row with this id already.
    #[error("there is a {what} {id} already")]
    Exists {
        /// `job` or `key`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A cap of the account stands against a job; nothing was changed.
    #[error("{0}")]
    CapExceeded(crate::CapExceeded),
    /// The caller asked for what cannot be.
    #[error("{0}")]
    Invalid(String),
    /// The store is shutting down, or its writer is gone.
    #[error("the records are closed")]
    Closed,
    /// Another process has the data folder.
    #[error("the data folder {} is in use by {holder}; stop it first or choose another folder", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// What the holder wrote into the lock file.
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
    /// The database belongs to an older version and somebody else holds the data folder, so it cannot be migrated now.
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
    #[error("cannot {doing} {}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: Arc<std::io::Error>,
    },
}

impl StoreError {
    /// Trying the same again later may help.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Database { transient: true, .. })
    }

    /// The database can't do its work now, whatever the work is. [`crate::StorageHealth`] tells the operator of it, once.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        use rusqlite::ErrorCode as Code;
        matches!(
            self.code(),
            Some(
                Code::DatabaseBusy
                    | Code::DatabaseLocked
                    | Code::DiskFull
                    | Code::SystemIoFailure
                    | Code::CannotOpen
                    | Code::ReadOnly
                    | Code::PermissionDenied
                    | Code::OutOfMemory
                    | Code::NotADatabase
                    | Code::DatabaseCorrupt
            )
        )
    }

    /// Logs that `what` was not done because of this error: in an outage, which was told already, for debugging only.
    pub fn log(&self, what: &str) {
        let error = self.in_full();
        if self.is_outage() {
            tracing::debug!(%error, "{what}");
        } else {
            tracing::error!(%error, "{what}");
        }
    }

    /// What SQLite says.
    pub(crate) fn code(&self) -> Option<rusqlite::ErrorCode> {
        let Self::Database { source, .. } = self else { return None };
        source.downcast_ref::<rusqlite::Error>()?.sqlite_error_code()
    }

    /// With its cause.
    pub(crate) fn in_full(&self) -> String {
        self.source().map_or_else(|| self.to_string(), |cause| format!("{self}: {cause}"))
    }

    pub(crate) fn corrupt(
        row: impl std::fmt::Display,
        column: &'static str,
        source: impl Error + Send + Sync + 'static,
    ) -> Self {
        Self::Corrupt { row: row.to_string(), column, source: Arc::new(source) }
    }

    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::File { doing, path: path.into(), source: Arc::new(source) }
    }
}
