//! Read-only connections.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::connection::connect;
use super::failure::{SqlResult, database};
use crate::{StorageHealth, StoreError};

/// Maximum number of idle connections.
const MAX_IDLE: usize = 8;

/// A pool of connections that never waits. Reads run on the caller's thread: they take some ten microseconds from the
/// page cache, less than handing them to another thread would. The number of connections is at most that of reading
/// threads.
#[derive(Debug)]
pub(super) struct Readers {
    file: PathBuf,
    idle: Mutex<Vec<Connection>>,
    health: StorageHealth,
}

impl Readers {
    pub(super) fn new(file: PathBuf, health: StorageHealth) -> Self {
        Self { file, idle: Mutex::new(Vec::new()), health }
    }

    /// Returns the path of the database.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Runs `query` on a connection; all its statements see one state of the database.
    pub(super) fn read<T>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> SqlResult<T>,
    ) -> Result<T, StoreError> {
        self.query(doing, |db| in_snapshot(db, query))
    }

    /// Runs a `query` of a single statement, which sees one state of the database by itself.
    pub(super) fn query<T>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> SqlResult<T>,
    ) -> Result<T, StoreError> {
        let result = self.run(doing, query);
        match &result {
            Err(error) if error.is_outage() => self.health.reads_failed(error),
            _ => self.health.reads_work(),
        }
        result
    }

    fn run<T>(&self, doing: &'static str, query: impl FnOnce(&Connection) -> SqlResult<T>) -> Result<T, StoreError> {
        let pooled = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let db = match pooled {
            Some(db) => db,
            None => self.open().map_err(|e| database("opening the database", e))?,
        };
        let result = query(&db).map_err(|fail| fail.while_doing(doing));
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection that could not end its transaction is dropped, since it would keep showing an old state.
        if idle.len() < MAX_IDLE && db.is_autocommit() {
            idle.push(db);
        }
        result
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let db = connect(&self.file)?;
        db.pragma_update(None, "query_only", true)?;
        Ok(db)
    }
}

fn in_snapshot<T>(db: &Connection, query: impl FnOnce(&Connection) -> SqlResult<T>) -> SqlResult<T> {
    // The statements are cached, since parsing them would take as long as a short query.
    db.prepare_cached("BEGIN")?.execute([])?;
    let value = query(db);
    db.prepare_cached("COMMIT")?.execute([])?;
    value
}
