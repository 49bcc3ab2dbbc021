//! Opens the records on a PostgreSQL server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::claim_batches::claim_batches;
use super::engine::PgEngine;
use super::failure::PgFailure;
use super::migrate::{STEPS, check, migrate};
use super::notify::{HintSource, listen, report};
use super::open_error::PostgresOpenError;
use super::options::PostgresOptions;
use super::pool::{connector, pool};
use super::result_batches::result_batches;
use super::server_facts::{ServerFacts, refused, server_facts};
use super::session::PgSession;
use super::store::PostgresRecords;
use crate::StorageHealth;
use crate::known_keys::KnownKeys;

/// The oldest supported major version of PostgreSQL.
const LEAST_VERSION: u32 = 14;

impl PostgresRecords {
    /// Connects to a server, and creates or migrates the schema. Other processes may use the records at the same
    /// time, so nothing that they hold is touched: leases end by their time.
    ///
    /// `folder` is the data folder, whose disk [`StorageHealth`] watches.
    ///
    /// # Errors
    /// [`PostgresOpenError`], each kind of which names the setting to change.
    pub async fn open(options: &PostgresOptions, folder: &Path) -> Result<Self, PostgresOpenError> {
        let Connected { engine, session, listener } = connect(options, StorageHealth::of_server(folder)).await?;
        let server = options.server();
        migrate(&session, STEPS).await.map_err(|problem| problem.at(server.clone()))?;
        drop(session);
        let source = Arc::new(HintSource::default());
        let tasks = [
            tokio::spawn(report(Arc::downgrade(&engine), Arc::clone(&source))),
            tokio::spawn(listen(Arc::downgrade(&engine), source, listener)),
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

    /// Connects to a server and checks whether it can hold the records; changes nothing.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn probe(options: &PostgresOptions) -> Result<(), PostgresOpenError> {
        let Connected { session, .. } = connect(options, StorageHealth::of_server(Path::new("/"))).await?;
        let server = options.server();
        check(&session, STEPS).await.map_err(|problem| problem.at(server))
    }
}

/// A server that can hold the records.
pub(super) struct Connected {
    pub(super) engine: Arc<PgEngine>,
    pub(super) session: PgSession,
    pub(super) listener: (Config, MakeRustlsConnect),
}

/// Connects to a server, and checks that it can hold the records.
pub(super) async fn connect(options: &PostgresOptions, health: StorageHealth) -> Result<Connected, PostgresOpenError> {
    let (config, tls) = options.parse()?;
    let tls = connector(&tls)?;
    let server = || options.server();
    let pool = pool(config.clone(), tls.clone()).map_err(|error| refused(server(), PgFailure::Connection(error)))?;
    let engine = Arc::new(PgEngine::new(pool, health));
    let session = engine.session().await.map_err(|failure| refused(server(), failure))?;
    let facts = server_facts(&session).await.map_err(|failure| refused(server(), failure))?;
    suits(facts, server())?;
    Ok(Connected { engine, session, listener: (config, tls) })
}

/// Refuses a server that cannot hold the records.
fn suits(facts: ServerFacts, server: String) -> Result<(), PostgresOpenError> {
    let ServerFacts { version, encoding, is_read_only } = facts;
    if version < LEAST_VERSION {
        return Err(PostgresOpenError::OldServer { server, found: version, least: LEAST_VERSION });
    }
    if encoding != "UTF8" {
        return Err(PostgresOpenError::Encoding { server, encoding });
    }
    if is_read_only {
        return Err(PostgresOpenError::ReadOnly { server });
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn an_old_server_is_refused_with_the_version_that_is_needed() {
        let facts = |version| ServerFacts { version, encoding: "UTF8".into(), is_read_only: false };
        suits(facts(LEAST_VERSION), "db".into()).unwrap();
        let error = suits(facts(LEAST_VERSION - 1), "db".into()).unwrap_err();
        assert!(matches!(error, PostgresOpenError::OldServer { found: 13, least: 14, .. }), "{error}");
        assert!(error.to_string().contains("store.url"), "{error}");
    }
}
