//! Errors of the records.

use std::error::Error;
use std::sync::Arc;

use assay_model::{ErrorChain, Sha256Digest};

/// The kind of a failure of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseProblem {
    /// Another process locked it for too long.
    Busy,
    /// Its disk is full.
    DiskFull,
    /// It cannot be read or written: an I/O error, a missing permission, damage, lack of memory.
    Unavailable,
    /// The statement itself failed.
    Statement,
}

/// A failure of the store, or a refusal that changed nothing ([`Self::Exists`], [`Self::CapExceeded`],
/// [`Self::MissingModel`], [`Self::Invalid`]). Other expected outcomes, such as a lost lease or an unknown id, are
/// values.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The engine failed.
    #[error("the database failed while {doing}")]
    Database {
        /// The operation.
        doing: &'static str,
        /// The kind of the failure.
        problem: DatabaseProblem,
        /// The engine's error. If the disk is full, [`crate::is_disk_full`] finds an I/O error that says so.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// A row contains a value that this version cannot read.
    #[error("the {column} of {row} is invalid")]
    Corrupt {
        /// The row.
        row: String,
        /// The column.
        column: &'static str,
        /// The error that occurred when reading it.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// A row with this id exists already.
    #[error("the {what} {id} already exists")]
    Exists {
        /// The kind of row: `job` or `key`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A job would exceed a cap of its account; nothing was changed.
    #[error("{0}")]
    CapExceeded(crate::CapExceeded),
    /// A job names a model that its account has not uploaded; nothing was changed.
    #[error("the account has no model with the SHA-256 {0}")]
    MissingModel(Sha256Digest),
    /// The arguments contradict the records.
    #[error("{0}")]
    Invalid(String),
    /// The store is shutting down, or its writer has ended.
    #[error("the records are closed")]
    Closed,
}

impl StoreError {
    /// Returns true if a retry may succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Database { problem: DatabaseProblem::Busy | DatabaseProblem::DiskFull, .. })
    }

    /// Returns true if the database is currently unusable. [`crate::StorageHealth`] logs that once.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Database { problem, .. } if *problem != DatabaseProblem::Statement)
    }

    /// Logs `what`, a description of the failed operation, with this error. During an outage, which has already been
    /// logged, it uses the debug level.
    pub fn log(&self, what: &str) {
        let error = ErrorChain(self);
        if self.is_outage() {
            tracing::debug!(%error, "{what}");
        } else {
            tracing::error!(%error, "{what}");
        }
    }

    pub(crate) fn corrupt(
        row: impl std::fmt::Display,
        column: &'static str,
        source: impl Error + Send + Sync + 'static,
    ) -> Self {
        Self::Corrupt { row: row.to_string(), column, source: Arc::new(source) }
    }
}
