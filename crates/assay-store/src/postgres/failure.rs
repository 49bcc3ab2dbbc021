//! Errors of statements and connections, and their translation to [`StoreError`].

use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

use crate::{DatabaseProblem, StoreError};

/// The error of a statement or of the operation around it, before its purpose is known; lets `?` convert all kinds.
#[derive(Debug)]
pub(super) enum PgFailure {
    /// A statement failed, or its connection was lost; the transaction has no effect.
    Statement(tokio_postgres::Error),
    /// COMMIT failed. If the connection was lost, the transaction may have taken effect.
    Commit(tokio_postgres::Error),
    /// No connection could be opened, or none was free in time.
    Connection(PoolError),
    /// The operation refused, or read an invalid row.
    Store(StoreError),
}

pub(super) type PgResult<T> = Result<T, PgFailure>;

impl From<tokio_postgres::Error> for PgFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Statement(error)
    }
}

impl From<PoolError> for PgFailure {
    fn from(error: PoolError) -> Self {
        Self::Connection(error)
    }
}

impl From<StoreError> for PgFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl PgFailure {
    /// Returns true if the transaction certainly had no effect and may succeed if it is repeated at once: after a
    /// deadlock, a serialization failure, or the loss of a connection before COMMIT was sent.
    pub(super) fn may_repeat(&self) -> bool {
        match self {
            Self::Statement(error) => Self::is_conflict(error) || is_lost(error),
            Self::Commit(error) => Self::is_conflict(error),
            Self::Connection(_) | Self::Store(_) => false,
        }
    }

    /// Returns true if two transactions were in each other's way.
    pub(super) fn is_conflict(error: &tokio_postgres::Error) -> bool {
        matches!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED))
    }

    /// Adds the purpose of the statement.
    pub(super) fn while_doing(self, doing: &'static str) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Statement(error) | Self::Commit(error) => database(doing, error),
            Self::Connection(PoolError::Backend(error)) => database(doing, error),
            Self::Connection(error) => {
                StoreError::Database { doing, problem: DatabaseProblem::Busy, source: Arc::new(error) }
            }
        }
    }
}

/// Translates an error of the engine.
pub(super) fn database(doing: &'static str, error: tokio_postgres::Error) -> StoreError {
    let problem = problem(&error);
    let source: Arc<dyn Error + Send + Sync> = match problem {
        DatabaseProblem::DiskFull => Arc::new(io::Error::new(ErrorKind::StorageFull, error)),
        _ => Arc::new(error),
    };
    StoreError::Database { doing, problem, source }
}

/// Returns true if the statement failed because the key exists.
pub(super) fn is_taken(failure: &PgFailure) -> bool {
    matches!(failure, PgFailure::Statement(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION))
}

/// Returns true if the connection is gone.
pub(super) fn is_lost(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(state) => {
            state.code().starts_with("08")
                || matches!(*state, SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW)
        }
        None => error.is_closed() || has_io_cause(error),
    }
}

fn has_io_cause(error: &tokio_postgres::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn problem(error: &tokio_postgres::Error) -> DatabaseProblem {
    let Some(state) = error.code() else {
        return match is_lost(error) {
            true => DatabaseProblem::Busy,
            // The driver could not convert a value, or the server speaks another protocol.
            false => DatabaseProblem::Statement,
        };
    };
    match *state {
        SqlState::DISK_FULL => DatabaseProblem::DiskFull,
        SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::INSUFFICIENT_PRIVILEGE | SqlState::UNDEFINED_TABLE => {
            DatabaseProblem::Unavailable
        }
        _ if PgFailure::is_conflict(error) || is_lost(error) => DatabaseProblem::Busy,
        SqlState::LOCK_NOT_AVAILABLE | SqlState::QUERY_CANCELED | SqlState::TOO_MANY_CONNECTIONS => {
            DatabaseProblem::Busy
        }
        _ => match &state.code()[..2] {
            // Insufficient resources and intervention of an operator pass; invalid authorization, an unknown database,
            // system errors and damage do not.
            "53" | "57" => DatabaseProblem::Busy,
            "28" | "3D" | "58" | "XX" => DatabaseProblem::Unavailable,
            _ => DatabaseProblem::Statement,
        },
    }
}
