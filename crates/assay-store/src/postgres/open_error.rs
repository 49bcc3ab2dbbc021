//! Error of opening the records on a PostgreSQL server.

use std::path::PathBuf;
use std::sync::Arc;

use crate::StoreError;

/// The records on a PostgreSQL server could not be opened.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresOpenError {
    /// The address is invalid.
    #[error(
        "store.url is not the address of a PostgreSQL server: {problem}; it has the form postgres://user@host/database"
    )]
    InvalidUrl {
        /// The problem, without the password.
        problem: String,
    },
    /// The root certificates could not be read.
    #[error("could not read the root certificates {}; correct sslrootcert in store.url", path.display())]
    RootCertificates {
        /// The file.
        path: PathBuf,
        /// The error of reading it.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// No connection could be opened.
    #[error(
        "could not reach the PostgreSQL server {server}: start it, or correct host and port in store.url, and check that a \
         firewall lets this host through"
    )]
    Unreachable {
        /// Its address without password.
        server: String,
        /// The driver's error.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The server requires or lacks TLS, or its certificate is not trusted.
    #[error(
        "could not agree on TLS with the PostgreSQL server {server}: set sslmode in store.url to what the server offers, \
         and sslrootcert to the certificates of its authority"
    )]
    Tls {
        /// Its address without password.
        server: String,
        /// The driver's error.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The user or the password was refused.
    #[error(
        "the PostgreSQL server {server} refuses this user: correct the user in store.url, and the password in it, in the \
         file that store.password_file names, or in PGPASSWORD (PGPASSFILE and ~/.pgpass are not read)"
    )]
    Refused {
        /// Its address without password.
        server: String,
        /// The driver's error.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// There is no such database.
    #[error("the PostgreSQL server {server} has no such database: create it, or correct its name in store.url")]
    NoDatabase {
        /// Its address without password.
        server: String,
        /// The driver's error.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The server is too old.
    #[error(
        "the PostgreSQL server {server} has version {found}, and at least {least} is needed: upgrade it, or name another in store.url"
    )]
    OldServer {
        /// Its address without password.
        server: String,
        /// Its major version.
        found: u32,
        /// The oldest that is supported.
        least: u32,
    },
    /// The database does not store text as UTF-8.
    #[error(
        "the database of {server} has the encoding {encoding}: name one in store.url that was created with ENCODING 'UTF8'"
    )]
    Encoding {
        /// Its address without password.
        server: String,
        /// Its encoding.
        encoding: String,
    },
    /// The database accepts no changes.
    #[error(
        "the PostgreSQL server {server} is read-only: name the primary server instead of a standby in store.url, or end \
         default_transaction_read_only"
    )]
    ReadOnly {
        /// Its address without password.
        server: String,
    },
    /// The user may not create tables.
    #[error(
        "the user in store.url may not create tables in the database of {server}: make it the owner of the database, or \
         grant it CREATE on its schema"
    )]
    Permission {
        /// Its address without password.
        server: String,
        /// The driver's error.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The server's disk is full.
    #[error(
        "the disk of the PostgreSQL server {server} is full: free space there, or name another server in store.url"
    )]
    DiskFull {
        /// Its address without password.
        server: String,
        /// The driver's error.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// A newer assay wrote this database and no longer supports this version.
    #[error(
        "the database of {server} has schema {found}, this version knows up to {known}: use a newer assay, or name another \
         database in store.url"
    )]
    NewerSchema {
        /// Its address without password.
        server: String,
        /// Its schema version.
        found: u32,
        /// The newest version known here.
        known: u32,
    },
    /// A migration in the database differs from the one of this version.
    #[error(
        "migration {number} in the database of {server} is not that of assay: another program wrote it, so name another \
         database in store.url"
    )]
    OtherMigration {
        /// Its address without password.
        server: String,
        /// The number of the migration.
        number: u32,
    },
    /// The database failed.
    #[error("could not open the records in the database of {server}, which store.url names")]
    Store {
        /// Its address without password.
        server: String,
        /// The failure.
        #[source]
        source: StoreError,
    },
}
