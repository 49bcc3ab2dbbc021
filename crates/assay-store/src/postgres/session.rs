//! Connections in use, and transactions on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::Object;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, RowStream};

use super::failure::{PgFailure, PgResult};

/// The value of a parameter.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// A connection of the pool, shared by the statements of one operation.
#[derive(Clone)]
pub(super) struct PgSession(Arc<PgConnection>);

struct PgConnection {
    /// `None` only while it is dropped.
    object: Option<Object>,
    in_transaction: AtomicBool,
}

impl Drop for PgConnection {
    fn drop(&mut self) {
        if let Some(object) = self.object.take()
            && self.in_transaction.load(Ordering::Relaxed)
        {
            // The operation failed, or its caller went away. Closing the connection rolls back; in the pool it would
            // keep its locks.
            drop(Object::take(object));
        }
    }
}

impl PgSession {
    pub(super) fn new(object: Object) -> Self {
        Self(Arc::new(PgConnection { object: Some(object), in_transaction: AtomicBool::new(false) }))
    }

    fn client(&self) -> PgResult<&Object> {
        self.0.object.as_ref().ok_or(PgFailure::Store(crate::StoreError::Closed))
    }

    /// Begins a transaction by `begin`.
    pub(super) async fn begin(&self, begin: &'static str) -> PgResult<()> {
        self.0.in_transaction.store(true, Ordering::Relaxed);
        Ok(self.client()?.batch_execute(begin).await?)
    }

    /// Commits. An error leaves open whether the transaction took effect, unless the server itself reports it.
    pub(super) async fn commit(&self) -> PgResult<()> {
        self.client()?.batch_execute("COMMIT").await.map_err(PgFailure::Commit)?;
        self.0.in_transaction.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Rolls back, so that the connection can be used again. If that fails, it is closed.
    pub(super) async fn roll_back(&self) {
        if let Ok(client) = self.client()
            && client.batch_execute("ROLLBACK").await.is_ok()
        {
            self.0.in_transaction.store(false, Ordering::Relaxed);
        }
    }

    /// Runs statements without parameters or results.
    pub(super) async fn batch(&self, sql: &str) -> PgResult<()> {
        Ok(self.client()?.batch_execute(sql).await?)
    }

    /// Prepares a statement, so that it is sent at once when it is next run.
    pub(super) async fn prepare(&self, sql: &str) -> PgResult<()> {
        self.client()?.prepare_cached(sql).await?;
        Ok(())
    }

    /// Runs a query.
    pub(super) async fn rows(&self, sql: &str, parameters: &[Parameter<'_>]) -> PgResult<Vec<Row>> {
        let client = self.client()?;
        let statement = client.prepare_cached(sql).await?;
        Ok(client.query(&statement, parameters).await?)
    }

    /// Runs a query whose rows are read one by one.
    pub(super) async fn stream(&self, sql: &str) -> PgResult<RowStream> {
        Ok(self.client()?.query_raw(sql, std::iter::empty::<&str>()).await?)
    }

    /// Begins a COPY statement that takes rows of columns of these types.
    pub(super) async fn copy_in(&self, sql: &str, columns: &[Type]) -> PgResult<BinaryCopyInWriter> {
        Ok(BinaryCopyInWriter::new(self.client()?.copy_in(sql).await?, columns))
    }

    /// Runs a change and returns the number of changed rows.
    pub(super) async fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> PgResult<u64> {
        let client = self.client()?;
        let statement = client.prepare_cached(sql).await?;
        Ok(client.execute(&statement, parameters).await?)
    }
}
