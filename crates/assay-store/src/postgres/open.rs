//! Opens the records on a PostgreSQL server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::claim_batches::claim_batches;
use super::engine::PgEngine;
use super::failure::PgFailure;
use super::migrate::{STEPS, migrate, refused, server_facts};
use super::notify::{HintSource, listen, report};
use super::open_error::PostgresOpenError;
use super::options::PostgresOptions;
use super::pool::{connector, pool};
use super::result_batches::result_batches;
use super::store::PostgresRecords;
use crate::StorageHealth;
use crate::known_keys::KnownKeys;

/// The oldest supported major version of PostgreSQL.
const LEAST_VERSION: u32 = 14;

impl PostgresRecords {
    /// Connects to a server, and creates or migrates the schema. Other processes may use the records at the same time, so
    /// nothing that they hold is touched: leases end by their time.
    ///
    /// `folder` is the data folder, whose disk [`StorageHealth`] watches.
    ///
    /// # Errors
    /// [`PostgresOpenError`], each kind of which names the setting to change.
    pub async fn open(options: &PostgresOptions, folder: &Path) -> Result<Self, PostgresOpenError> {
        let (config, tls) = options.parse()?;
        let tls = connector(&tls)?;
        let server = options.server();
        let pool =
            pool(config.clone(), tls.clone()).map_err(|error| refused(server.clone(), PgFailure::Connection(error)))?;
        let engine = Arc::new(PgEngine::new(pool, StorageHealth::of_server(folder)));

        let session = engine.session().await.map_err(|failure| refused(server.clone(), failure))?;
        let facts = server_facts(&session).await.map_err(|failure| refused(server.clone(), failure))?;
        let (found, encoding, is_read_only) = facts;
        if found < LEAST_VERSION {
            return Err(PostgresOpenError::OldServer { server, found, least: LEAST_VERSION });
        }
        if encoding != "UTF8" {
            return Err(PostgresOpenError::Encoding { server, encoding });
        }
        if is_read_only {
            return Err(PostgresOpenError::ReadOnly { server });
        }
        migrate(&session, STEPS).await.map_err(|problem| problem.at(server.clone()))?;
        drop(session);

        let source = Arc::new(HintSource::default());
        let tasks = [
            tokio::spawn(report(Arc::downgrade(&engine), Arc::clone(&source))),
            tokio::spawn(listen(Arc::downgrade(&engine), source, (config, tls))),
        ];
        Ok(Self {
            results: result_batches(&engine),
            claims: claim_batches(&engine),
            engine,
            known_keys: KnownKeys::default(),
            key_changes: AtomicU64::new(0),
            server,
            tasks,
        })
    }
}
