//! Opening the database of a data folder.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::checkpoint::Checkpointer;
use super::commits::StateFile;
use super::fail::{SqlResult, database};
use super::keys;
use super::known_keys::KnownKeys;
use super::lock::DataLock;
use super::migrate::{MIGRATIONS, migrate, newest, refuse_newer, version};
use super::readers::Readers;
use super::reserve::{MAX_LOG_BYTES, Reserve};
use super::writer::{Durability, Writer};
use crate::{KeyId, KeyRecord, StorageHealth, StoreError};

pub(super) const FILE_NAME: &str = "assay.db";
/// How long a statement waits for another process (`assay keys`, a backup) to finish its own.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Prepared statements kept per connection.
const STATEMENTS: usize = 64;

/// The records of one data folder.
#[derive(Debug)]
pub struct SqliteRecords {
    // Declared, and so dropped, in this order: the lock goes last.
    writer: Writer,
    readers: Arc<Readers>,
    known_keys: KnownKeys,
    reserve: Arc<Reserve>,
    health: StorageHealth,
    _lock: Option<DataLock>,
}

impl SqliteRecords {
    /// Opens (or creates) the records of `folder` for a server: nobody else may serve from it. Whoever held a lease
    /// before is dead, so all leases run out at once; the next [`crate::Records::reconcile`] requeues their work.
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::NewerSchema`], or what the file system and SQLite say.
    pub fn open(folder: &Path, holder: &str) -> Result<Self, StoreError> {
        let file = prepare(folder)?;
        let lock = DataLock::take(folder, holder)?;
        let mut db = writable(&file)?;
        migrate(&mut db, &file, MIGRATIONS)?;
        // A new file is safe only once its folder is.
        let synced = File::open(folder).and_then(|f| f.sync_all());
        synced.map_err(|e| StoreError::file("sync", folder, e))?;
        super::reconcile::expire_all(&db).map_err(|fail| fail.while_doing("expiring old leases"))?;
        super::answers::free_all(&db).map_err(|fail| fail.while_doing("freeing requests that died"))?;
        Self::assemble(db, file, Some(lock))
    }

    /// Opens the records for a short task beside a server that may be running (`assay keys`). Creates and migrates them
    /// only if no server holds the folder.
    ///
    /// # Errors
    /// As [`SqliteRecords::open`], and [`StoreError::OlderSchema`] while an older server is running.
    pub fn open_beside(folder: &Path, holder: &str) -> Result<Self, StoreError> {
        let file = prepare(folder)?;
        let lock = match DataLock::take(folder, holder) {
            Ok(lock) => Some(lock),
            Err(StoreError::Locked { .. }) if file.exists() => None,
            Err(other) => return Err(other),
        };
        let mut db = writable(&file)?;
        if lock.is_some() {
            migrate(&mut db, &file, MIGRATIONS)?;
        } else {
            let (found, known) = (version(&db)?, newest(MIGRATIONS));
            refuse_newer(&file, found, MIGRATIONS)?;
            if found < known {
                return Err(StoreError::OlderSchema { file, found, known });
            }
        }
        Self::assemble(db, file, lock)
    }

    fn assemble(db: Connection, file: PathBuf, lock: Option<DataLock>) -> Result<Self, StoreError> {
        let second = connect(&file).map_err(|e| database("opening the database", e))?;
        let thread = |e| StoreError::file("start a thread for", &file, e);
        let reserve = Reserve::of(&file).map_err(|e| StoreError::file("open", &file, e))?;
        let reserve = Arc::new(reserve);
        let health = StorageHealth::new(file.parent().unwrap_or(&file));
        let checkpointer = Checkpointer::start(second, Arc::clone(&reserve), health.clone()).map_err(thread)?;
        let writer = Writer::start(db, checkpointer, health.clone()).map_err(thread)?;
        let known_keys = KnownKeys::new(StateFile::of(&file));
        let readers = Arc::new(Readers::new(file, health.clone()));
        Ok(Self { writer, readers, known_keys, reserve, health, _lock: lock })
    }

    /// Holds `bytes` of the disk for the records from now on, so that they commit when nothing else can be written: as
    /// many bytes of pages, a page being 4 KiB; at most 64 MiB are kept for long. Where there is no room, it is tried again until
    /// there is.
    ///
    /// # Errors
    /// There is no room yet, or the file system can't allocate space ahead.
    pub fn hold_reserve(&self, bytes: u64) -> Result<(), StoreError> {
        self.reserve.hold(bytes).map_err(|e| StoreError::file("hold disk space for", self.readers.file(), e))
    }

    /// Whether all of [`Self::hold_reserve`] is held.
    #[must_use]
    pub fn holds_reserve(&self) -> bool {
        self.reserve.is_held()
    }

    /// Whether they, and the disk that they lie on, work.
    #[must_use]
    pub fn health(&self) -> StorageHealth {
        self.health.clone()
    }

    pub(super) fn changed(&self) -> tokio::sync::watch::Receiver<()> {
        self.writer.changes()
    }

    /// A key, read only if something was committed since it was read last.
    pub(super) fn known_key(&self, id: &KeyId) -> Result<Option<Arc<KeyRecord>>, StoreError> {
        self.known_keys.get(id, || self.ask("reading a key", |db| keys::get(db, id)))
    }

    pub(super) fn read<T>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> SqlResult<T>,
    ) -> Result<T, StoreError> {
        self.readers.read(doing, query)
    }

    /// As [`Self::read`], for a query of a single statement.
    pub(super) fn ask<T>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> SqlResult<T>,
    ) -> Result<T, StoreError> {
        self.readers.ask(doing, query)
    }

    /// As [`Self::read`], on a thread of its own: for queries of many rows.
    pub(super) async fn read_apart<T: Send + 'static>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = Arc::clone(&self.readers);
        let read = tokio::task::spawn_blocking(move || readers.read(doing, query)).await;
        read.unwrap_or_else(|_| Err(StoreError::Closed))
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        operation: impl FnOnce(&Connection) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.write(Durability::Machine, doing, operation).await
    }

    /// As [`Self::write`], for who works on what: it outlives this process, but not the machine, on which the worker dies
    /// too. Not for what makes an event: who has seen it will not be told again.
    pub(super) async fn lease<T: Send + 'static>(
        &self,
        doing: &'static str,
        operation: impl FnOnce(&Connection) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.write(Durability::Process, doing, operation).await
    }
}

fn prepare(folder: &Path) -> Result<PathBuf, StoreError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|e| StoreError::file("create the data folder", folder, e))?;
    Ok(folder.join(FILE_NAME))
}

fn writable(file: &Path) -> Result<Connection, StoreError> {
    // SQLite would let everybody read a new file, and gives those beside it the same mode.
    match File::options().write(true).create_new(true).mode(0o600).open(file) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(StoreError::file("create", file, e)),
        _ => {}
    }
    let open = || -> rusqlite::Result<Connection> {
        let db = connect(file)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        Ok(db)
    };
    open().map_err(|e| database("opening the database", e))
}

/// A connection with everything that is not kept in the file.
pub(super) fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(file)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    db.pragma_update(None, "journal_size_limit", MAX_LOG_BYTES)?;
    // What a savepoint must remember is small; a file for it would be a change that the next fsync waits for.
    db.pragma_update(None, "temp_store", "MEMORY")?;
    // Otherwise the plan depends on bound values, such as that of `LIMIT ?`, and SQLite prepares the statement anew each time.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
}
