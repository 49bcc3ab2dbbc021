//! The error of a statement, before it is known what it was for.

use std::sync::Arc;

use crate::StoreError;

/// Lets `?` take both kinds of failure inside an operation.
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
    pub(super) fn while_doing(self, doing: &'static str) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(source) => database(doing, source),
        }
    }
}

pub(super) fn database(doing: &'static str, source: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, DiskFull};
    let transient = matches!(source.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | DiskFull));
    StoreError::Database { doing, transient, source: Arc::new(source) }
}

/// Whether the statement failed on a key that exists.
pub(super) fn is_taken(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
    let code = error.sqlite_error().map(|e| e.extended_code);
    matches!(code, Some(SQLITE_CONSTRAINT_PRIMARYKEY | SQLITE_CONSTRAINT_UNIQUE))
}
