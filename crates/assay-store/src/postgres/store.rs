//! The open records.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::task::JoinHandle;

use super::claim_batches::ClaimBatches;
use super::engine::PgEngine;
use super::result_batches::ResultBatches;
use crate::StorageHealth;
use crate::known_keys::KnownKeys;

/// The records in a database of a PostgreSQL server, which several processes may use at the same time.
pub struct PostgresRecords {
    pub(super) engine: Arc<PgEngine>,
    pub(super) results: ResultBatches,
    pub(super) claims: ClaimBatches,
    pub(super) known_keys: KnownKeys,
    /// Number of changes of keys by this process, after each of which the cached ones are invalid.
    pub(super) key_changes: AtomicU64,
    pub(super) server: String,
    pub(super) tasks: [JoinHandle<()>; 2],
}

impl fmt::Debug for PostgresRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresRecords").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Drop for PostgresRecords {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl PostgresRecords {
    /// Returns the health of the records, and of the disk of the data folder.
    #[must_use]
    pub fn health(&self) -> StorageHealth {
        self.engine.health().clone()
    }

    /// Returns the address of the server, without password.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }
}
