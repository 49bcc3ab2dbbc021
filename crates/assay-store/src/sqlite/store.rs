//! The open records, and access to their reading connections and their writer.

use std::fmt;
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::watch;

use super::failure::SqlResult;
use super::lock::DataLock;
use super::open_error::OpenError;
use super::readers::Readers;
use super::reserve::Reserve;
use super::writer::{Durability, Writer};
use crate::known_keys::KnownKeys;
use crate::{StorageHealth, StoreError};

/// The records of one data folder.
pub struct SqliteRecords {
    // Fields are dropped in this order: the lock must be released last.
    pub(super) writer: Writer,
    pub(super) readers: Arc<Readers>,
    pub(super) known_keys: KnownKeys,
    pub(super) reserve: Arc<Reserve>,
    pub(super) health: StorageHealth,
    pub(super) _lock: Option<DataLock>,
}

impl fmt::Debug for SqliteRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteRecords").field("file", &self.readers.file()).finish_non_exhaustive()
    }
}

impl SqliteRecords {
    /// Reserves `bytes` of disk space for the records from now on, so that they commit when nothing else can be
    /// written: that many bytes of pages of 4 KiB; at most 64 MiB are kept for long. If there is no room, it is retried
    /// until there is.
    ///
    /// # Errors
    /// There is no room yet, or the file system cannot allocate space ahead.
    pub fn hold_reserve(&self, bytes: u64) -> Result<(), OpenError> {
        self.reserve.hold(bytes).map_err(|e| OpenError::file("reserve disk space for", self.readers.file(), e))
    }

    /// Returns true if the whole reserve requested with [`Self::hold_reserve`] is allocated.
    #[must_use]
    pub fn holds_reserve(&self) -> bool {
        self.reserve.is_held()
    }

    /// Returns the health of the records and of their disk.
    #[must_use]
    pub fn health(&self) -> StorageHealth {
        self.health.clone()
    }

    /// Returns a channel that is marked after each commit.
    pub(super) fn commits(&self) -> watch::Receiver<()> {
        self.writer.changes()
    }

    /// Runs `query` on a reading connection; all its statements see one state of the database.
    pub(super) fn read<T>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> SqlResult<T>,
    ) -> Result<T, StoreError> {
        self.readers.read(doing, query)
    }

    /// Runs a `query` of a single statement, which needs no transaction.
    pub(super) fn query<T>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> SqlResult<T>,
    ) -> Result<T, StoreError> {
        self.readers.query(doing, query)
    }

    /// Like [`Self::read`], but on a blocking thread, for queries of many rows.
    pub(super) async fn read_blocking<T: Send + 'static>(
        &self,
        doing: &'static str,
        query: impl FnOnce(&Connection) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = Arc::clone(&self.readers);
        let read = tokio::task::spawn_blocking(move || readers.read(doing, query)).await;
        read.unwrap_or_else(|_| Err(StoreError::Closed))
    }

    /// Runs `operation` in the writer's next transaction.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        operation: impl FnOnce(&Connection) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.write(Durability::Machine, doing, operation).await
    }

    /// Like [`Self::write`], but for leases: the change survives this process but not the machine, whose workers die
    /// with it. Not for a change that causes an event, since a follower that has seen the event would not receive it
    /// again.
    pub(super) async fn write_lease<T: Send + 'static>(
        &self,
        doing: &'static str,
        operation: impl FnOnce(&Connection) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.write(Durability::Process, doing, operation).await
    }
}
