//! Transactions on connections of the pool: retries after conflicts, health, and hints about changes.

use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use tokio::sync::{Notify, watch};

use super::failure::{PgFailure, PgResult};
use super::session::PgSession;
use crate::{StorageHealth, StoreError};

/// Maximum number of attempts at a transaction that meets conflicts or lost connections.
const MAX_ATTEMPTS: u32 = 8;
/// Pause after the first conflict; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(2);

/// Statement that begins a transaction whose statements lock the rows that they depend on.
const WRITE: &str = "BEGIN";
/// Statements that begin a transaction that renews a lease. It is not flushed at once: a lease that is lost by a crash
/// of the server ends early, which fences its holder.
const LEASE: &str = "BEGIN; SET LOCAL synchronous_commit = off";
/// Statement that begins a transaction whose queries see one state of the database.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// The pool of connections, and the state that is reported about them.
pub(super) struct PgEngine {
    pool: Pool,
    health: StorageHealth,
    /// Marked after each commit of this process, and when another process reports one.
    changed: watch::Sender<()>,
    /// Wakes the task that reports commits to other processes.
    committed: Notify,
}

impl PgEngine {
    pub(super) fn new(pool: Pool, health: StorageHealth) -> Self {
        Self { pool, health, changed: watch::channel(()).0, committed: Notify::new() }
    }

    pub(super) fn health(&self) -> &StorageHealth {
        &self.health
    }

    /// Returns a channel that is marked after commits.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Marks that there may be changes.
    pub(super) fn mark_changed(&self) {
        self.changed.send_replace(());
    }

    /// Waits until this process has committed changes that were not reported to other processes.
    pub(super) async fn wait_for_commits(&self) {
        self.committed.notified().await;
    }

    /// Takes a connection.
    pub(super) async fn session(&self) -> PgResult<PgSession> {
        Ok(PgSession::new(self.pool.get().await?))
    }

    /// Runs a query of a single statement, which sees one state by itself.
    pub(super) async fn query<T, F: Future<Output = PgResult<T>>>(
        &self,
        doing: &'static str,
        query: impl Fn(PgSession) -> F,
    ) -> Result<T, StoreError> {
        self.read_in(None, doing, query).await
    }

    /// Runs queries that all see one state of the database.
    pub(super) async fn read<T, F: Future<Output = PgResult<T>>>(
        &self,
        doing: &'static str,
        queries: impl Fn(PgSession) -> F,
    ) -> Result<T, StoreError> {
        self.read_in(Some(SNAPSHOT), doing, queries).await
    }

    async fn read_in<T, F: Future<Output = PgResult<T>>>(
        &self,
        begin: Option<&'static str>,
        doing: &'static str,
        queries: impl Fn(PgSession) -> F,
    ) -> Result<T, StoreError> {
        let result = self.repeat(begin, doing, queries).await;
        match &result {
            Err(error) if error.is_outage() => self.health.reads_failed(error),
            _ => self.health.reads_work(),
        }
        result
    }

    /// Runs `operation` in a transaction that is durable before this returns. It may run several times; only the last
    /// time has an effect.
    pub(super) async fn write<T, F: Future<Output = PgResult<T>>>(
        &self,
        doing: &'static str,
        operation: impl Fn(PgSession) -> F,
    ) -> Result<T, StoreError> {
        let result = self.write_in(WRITE, doing, operation).await;
        if result.is_ok() {
            self.mark_changed();
            self.committed.notify_one();
        }
        result
    }

    /// Like [`Self::write`], but for the renewal of a lease, which a crash of the server may undo.
    pub(super) async fn write_lease<T, F: Future<Output = PgResult<T>>>(
        &self,
        doing: &'static str,
        operation: impl Fn(PgSession) -> F,
    ) -> Result<T, StoreError> {
        self.write_in(LEASE, doing, operation).await
    }

    async fn write_in<T, F: Future<Output = PgResult<T>>>(
        &self,
        begin: &'static str,
        doing: &'static str,
        operation: impl Fn(PgSession) -> F,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        let result = self.repeat(Some(begin), doing, operation).await;
        metrics::histogram!("assay_db_commit_seconds").record(begun.elapsed());
        match &result {
            Err(error) if error.is_outage() => self.health.commits_failed(error),
            _ => self.health.commits_work(),
        }
        result
    }

    async fn repeat<T, F: Future<Output = PgResult<T>>>(
        &self,
        begin: Option<&'static str>,
        doing: &'static str,
        operation: impl Fn(PgSession) -> F,
    ) -> Result<T, StoreError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..MAX_ATTEMPTS {
            match self.attempt(begin, &operation).await {
                Err(failure) if failure.may_repeat() => {
                    metrics::counter!("assay_db_retries_total").increment(1);
                    tracing::debug!(?failure, doing, "the transaction is repeated");
                }
                other => return other.map_err(|failure| failure.while_doing(doing)),
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        self.attempt(begin, &operation).await.map_err(|failure| failure.while_doing(doing))
    }

    async fn attempt<T, F: Future<Output = PgResult<T>>>(
        &self,
        begin: Option<&'static str>,
        operation: &impl Fn(PgSession) -> F,
    ) -> PgResult<T> {
        let session = self.session().await?;
        let Some(begin) = begin else { return operation(session).await };
        session.begin(begin).await?;
        let result = operation(session.clone()).await;
        match &result {
            Ok(_) => session.commit().await?,
            // A refusal in normal operation: the connection is as good as before.
            Err(PgFailure::Store(_)) => session.roll_back().await,
            Err(PgFailure::Statement(error)) if !super::failure::is_lost(error) => session.roll_back().await,
            Err(_) => {}
        }
        result
    }
}
