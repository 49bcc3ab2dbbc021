//! Connections to the database file and their settings.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::failure::database;
use super::open_error::OpenError;
use super::reserve::MAX_LOG_BYTES;

pub(super) const FILE_NAME: &str = "assay.db";
/// Maximum time that a statement waits for one of another process (`assay keys`, a backup).
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Prepared statements kept per connection.
const STATEMENTS: usize = 64;

/// Creates the data folder and returns the path of its database.
pub(super) fn create_folder(folder: &Path) -> Result<PathBuf, OpenError> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    created.map_err(|e| OpenError::file("create the data folder", folder, e))?;
    Ok(folder.join(FILE_NAME))
}

/// Opens the database for writing; creates it if there is none.
pub(super) fn connect_writable(file: &Path) -> Result<Connection, OpenError> {
    // SQLite would make a new file readable for all users. It gives the files next to it the same mode.
    match File::options().write(true).create_new(true).mode(0o600).open(file) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(OpenError::file("create", file, e)),
        _ => {}
    }
    let open = || -> rusqlite::Result<Connection> {
        let db = connect(file)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        Ok(db)
    };
    open().map_err(|e| database("opening the database", e).into())
}

/// Opens a connection with all settings that are not stored in the file.
pub(super) fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(file)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    db.pragma_update(None, "journal_size_limit", MAX_LOG_BYTES)?;
    // A savepoint's journal is small, and a file for it would be one more change for which the next fsync waits.
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // Otherwise the plan depends on bound values, such as that of `LIMIT ?`, and SQLite prepares the statement again
    // each time.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
}
