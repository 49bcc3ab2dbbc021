//! Opens the records of a data folder.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::{Clock, SystemClock, WORKER_LEASE_S};
use jiff::SignedDuration;
use rusqlite::Connection;

use super::checkpoint::Checkpointer;
use super::connection::{connect, connect_writable, create_folder};
use super::failure::database;
use super::lock::DataLock;
use super::migrate::{MIGRATIONS, migrate, newest, refuse_newer, version};
use super::open_error::OpenError;
use super::readers::Readers;
use super::reserve::Reserve;
use super::store::SqliteRecords;
use super::writer::Writer;
use super::{idempotency, recovery};
use crate::StorageHealth;
use crate::known_keys::KnownKeys;

/// Time that workers on other hosts have after the start to renew their leases.
const HOST_GRACE: SignedDuration = SignedDuration::from_secs(WORKER_LEASE_S as i64);

impl SqliteRecords {
    /// Opens (or creates) the records of `folder` for a server, which must be the only one. All leases expire at once,
    /// because their holders are dead; the next [`crate::RecoveryRecords::reconcile`] requeues their work.
    ///
    /// # Errors
    /// [`OpenError::Locked`], [`OpenError::NewerSchema`], or an error of the file system or of SQLite.
    pub fn open(folder: &Path, holder: &str) -> Result<Self, OpenError> {
        let file = create_folder(folder)?;
        let lock = DataLock::take(folder, holder)?;
        let mut db = connect_writable(&file)?;
        migrate(&mut db, &file, MIGRATIONS)?;
        // A new file is durable only once its folder has been synced.
        let synced = File::open(folder).and_then(|f| f.sync_all());
        synced.map_err(|e| OpenError::file("sync", folder, e))?;
        recovery::expire_all(&db, SystemClock.now(), HOST_GRACE)
            .map_err(|failure| failure.while_doing("expiring old leases"))?;
        idempotency::free_all(&db).map_err(|failure| failure.while_doing("freeing requests that died"))?;
        Self::assemble(db, file, Some(lock))
    }

    /// Opens the records for a short task while a server may be running (`assay keys`). Creates and migrates them
    /// only if no server holds the folder.
    ///
    /// # Errors
    /// As for [`SqliteRecords::open`], and [`OpenError::OlderSchema`] while an older server is running.
    pub fn open_beside(folder: &Path, holder: &str) -> Result<Self, OpenError> {
        let file = create_folder(folder)?;
        let lock = match DataLock::take(folder, holder) {
            Ok(lock) => Some(lock),
            Err(OpenError::Locked { .. }) if file.exists() => None,
            Err(other) => return Err(other),
        };
        let mut db = connect_writable(&file)?;
        if lock.is_some() {
            migrate(&mut db, &file, MIGRATIONS)?;
        } else {
            let (found, known) = (version(&db)?, newest(MIGRATIONS));
            refuse_newer(&file, found, MIGRATIONS)?;
            if found < known {
                return Err(OpenError::OlderSchema { file, found, known });
            }
        }
        Self::assemble(db, file, lock)
    }

    fn assemble(db: Connection, file: PathBuf, lock: Option<DataLock>) -> Result<Self, OpenError> {
        let second = connect(&file).map_err(|e| database("opening the database", e))?;
        let thread = |e| OpenError::file("start a thread for", &file, e);
        let reserve = Reserve::of(&file).map_err(|e| OpenError::file("open", &file, e))?;
        let reserve = Arc::new(reserve);
        let health = StorageHealth::new(file.parent().unwrap_or(&file));
        let checkpointer = Checkpointer::start(second, Arc::clone(&reserve), health.clone()).map_err(thread)?;
        let writer = Writer::start(db, checkpointer, health.clone()).map_err(thread)?;
        let readers = Arc::new(Readers::new(file, health.clone()));
        Ok(Self { writer, readers, known_keys: KnownKeys::default(), reserve, health, _lock: lock })
    }
}
