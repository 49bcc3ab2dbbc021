//! Error of an import.

use std::sync::Arc;

use super::super::PostgresOpenError;
use crate::StoreError;

/// The records could not be imported. The database is as it was before.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RecordsImportError {
    /// The database could not be opened.
    #[error(transparent)]
    Open(#[from] PostgresOpenError),
    /// The database has records that are not those of the source.
    #[error("the database of {server} has other records (in the table {table}): name an empty database")]
    NotEmpty {
        /// Address of the server without password.
        server: String,
        /// The first table that differs.
        table: &'static str,
    },
    /// A value of the source does not fit.
    #[error("the column {column} of the table {table} has an invalid value, in the row of {row}")]
    Value {
        /// The table.
        table: &'static str,
        /// The column.
        column: String,
        /// The first column of the row.
        row: String,
        /// The problem.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The rows that the database returned are not those that were written.
    #[error("the table {table} has other content in the database of {server} than in the source")]
    Differs {
        /// Address of the server without password.
        server: String,
        /// The table.
        table: &'static str,
    },
    /// Reading the source or writing the database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
