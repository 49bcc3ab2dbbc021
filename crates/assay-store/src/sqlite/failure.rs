//! Errors of statements, and their translation to [`StoreError`].

use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use crate::{DatabaseProblem, StoreError};

/// The error of a statement or of the operation around it, before its purpose is known; lets `?` convert both.
#[derive(Debug)]
pub(super) enum SqlFailure {
    Sql(rusqlite::Error),
    Store(StoreError),
}

pub(super) type SqlResult<T> = Result<T, SqlFailure>;

impl From<rusqlite::Error> for SqlFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for SqlFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl SqlFailure {
    /// Adds the purpose of the statement.
    pub(super) fn while_doing(self, doing: &'static str) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(source) => database(doing, source),
        }
    }
}

/// Translates an error of SQLite.
pub(super) fn database(doing: &'static str, source: rusqlite::Error) -> StoreError {
    let problem = problem(&source);
    let source: Arc<dyn Error + Send + Sync> = match problem {
        // `is_disk_full` recognises this error, since it does not know the engine's errors.
        DatabaseProblem::DiskFull => Arc::new(io::Error::new(ErrorKind::StorageFull, source)),
        _ => Arc::new(source),
    };
    StoreError::Database { doing, problem, source }
}

fn problem(error: &rusqlite::Error) -> DatabaseProblem {
    use rusqlite::ErrorCode as Code;
    match error.sqlite_error_code() {
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => DatabaseProblem::Busy,
        Some(Code::DiskFull) => DatabaseProblem::DiskFull,
        Some(
            Code::SystemIoFailure
            | Code::CannotOpen
            | Code::ReadOnly
            | Code::PermissionDenied
            | Code::OutOfMemory
            | Code::NotADatabase
            | Code::DatabaseCorrupt,
        ) => DatabaseProblem::Unavailable,
        _ => DatabaseProblem::Statement,
    }
}

/// Returns true if the statement failed because the key exists.
pub(super) fn is_taken(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
    let code = error.sqlite_error().map(|e| e.extended_code);
    matches!(code, Some(SQLITE_CONSTRAINT_PRIMARYKEY | SQLITE_CONSTRAINT_UNIQUE))
}

#[cfg(test)]
mod tests {
    use super::database;
    use crate::is_disk_full;

    #[test]
    fn a_full_disk_is_recognised_in_an_error_of_sqlite() {
        let failed = |code| database("writing", rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None));
        let (full, busy) = (failed(rusqlite::ffi::SQLITE_FULL), failed(rusqlite::ffi::SQLITE_BUSY));
        assert!(is_disk_full(&full) && full.is_transient() && full.is_outage(), "{full:?}");
        assert!(!is_disk_full(&busy) && busy.is_transient() && busy.is_outage(), "{busy:?}");
        let damaged = failed(rusqlite::ffi::SQLITE_CORRUPT);
        assert!(!is_disk_full(&damaged) && !damaged.is_transient() && damaged.is_outage(), "{damaged:?}");
        let refused = failed(rusqlite::ffi::SQLITE_CONSTRAINT);
        assert!(!refused.is_transient() && !refused.is_outage(), "{refused:?}");
    }
}
