//! Checks that a server can be reached and can hold the records.

use std::sync::Arc;

use deadpool_postgres::{HookError, PoolError};
use tokio_postgres::error::SqlState;

use super::failure::{PgFailure, PgResult, database};
use super::open_error::PostgresOpenError;
use super::row::{field, first, number};
use super::session::PgSession;
use crate::{DatabaseProblem, StoreError};

/// The facts about a server that opening depends on.
pub(super) struct ServerFacts {
    /// Its major version.
    pub(super) version: u32,
    /// The encoding of the database.
    pub(super) encoding: String,
    pub(super) is_read_only: bool,
}

/// Returns the facts about the server.
pub(super) async fn server_facts(session: &PgSession) -> PgResult<ServerFacts> {
    let sql = "SELECT current_setting('server_encoding') AS encoding,
                      current_setting('server_version_num')::bigint / 10000 AS version,
                      pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only";
    let found = first(session, sql, &[], |row| {
        let (version, is_read_only) = (number(row, "version")?, field(row, "is_read_only")?);
        Ok(ServerFacts { version, encoding: field(row, "encoding")?, is_read_only })
    });
    found.await?.ok_or_else(|| StoreError::Invalid("the server did not report its version".into()).into())
}

/// Returns the error of a connection that could not be opened.
pub(super) fn refused(server: String, failure: PgFailure) -> PostgresOpenError {
    let error = match failure {
        PgFailure::Connection(PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)))
        | PgFailure::Statement(error) => error,
        PgFailure::Connection(other) => {
            return PostgresOpenError::Unreachable { server, source: Arc::new(other) };
        }
        other => {
            return PostgresOpenError::Store { server, source: other.while_doing("opening the database") };
        }
    };
    let text = error.to_string();
    match error.code() {
        None if text.contains("TLS") => PostgresOpenError::Tls { server, source: Arc::new(error) },
        // The driver's error for a server that asks for a password when there is none.
        None if text.contains("configuration") || text.contains("authentication") => {
            PostgresOpenError::Refused { server, source: Arc::new(error) }
        }
        None => PostgresOpenError::Unreachable { server, source: Arc::new(error) },
        Some(&SqlState::INVALID_CATALOG_NAME) => PostgresOpenError::NoDatabase { server, source: Arc::new(error) },
        Some(state) if state.code().starts_with("28") => PostgresOpenError::Refused { server, source: Arc::new(error) },
        Some(state) if state.code() == "57P03" || state.code() == "53300" => {
            PostgresOpenError::Unreachable { server, source: Arc::new(error) }
        }
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => PostgresOpenError::Permission { server, source: Arc::new(error) },
        Some(_) => match database("opening the database", error) {
            StoreError::Database { problem: DatabaseProblem::DiskFull, source, .. } => {
                PostgresOpenError::DiskFull { server, source }
            }
            source => PostgresOpenError::Store { server, source },
        },
    }
}
