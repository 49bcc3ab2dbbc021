//! The tables of the target, in the transaction of the import.

use assay_model::{Sha256Digest, Sha256Writer};
use futures_util::TryStreamExt;
use tokio_postgres::types::{ToSql, Type};

use super::cell::Cell;
use super::source::TargetColumn;
use super::tables::{ImportTable, TABLES};
use crate::StoreError;
use crate::postgres::failure::PgResult;
use crate::postgres::row::{all, field, value};
use crate::postgres::session::PgSession;

/// Begins the transaction. It may take hours, but waits only briefly for others.
const BEGIN: &str = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; \
                     SET LOCAL lock_timeout = '10s'";

/// The number of a table's rows and the hash over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableContent {
    pub(super) rows: u64,
    pub(super) sha256: Sha256Digest,
}

/// Computes the content of a table from its rows in order.
#[derive(Default)]
pub(super) struct ContentWriter {
    rows: u64,
    hash: Sha256Writer,
}

impl ContentWriter {
    pub(super) fn add(&mut self, row: &[Cell]) {
        self.rows += 1;
        row.iter().for_each(|cell| cell.hash(&mut self.hash));
    }

    pub(super) fn finish(self) -> TableContent {
        TableContent { rows: self.rows, sha256: self.hash.finish() }
    }
}

/// Begins the transaction and locks all tables against changes.
pub(super) async fn begin(session: &PgSession) -> PgResult<()> {
    session.begin(BEGIN).await?;
    let names: Vec<_> = TABLES.iter().map(|table| table.name).collect();
    session.batch(&format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", names.join(", "))).await
}

/// Returns true if no table has rows.
pub(super) async fn is_empty(session: &PgSession) -> PgResult<bool> {
    for table in TABLES {
        if value::<bool>(session, &format!("SELECT EXISTS (SELECT 1 FROM {})", table.name), &[]).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Turns the triggers that write events and count usage off or on: their rows are copied.
pub(super) async fn set_triggers(session: &PgSession, are_on: bool) -> PgResult<()> {
    let turn = if are_on { "ENABLE" } else { "DISABLE" };
    for table in TABLES {
        session.batch(&format!("ALTER TABLE {} {turn} TRIGGER USER", table.name)).await?;
    }
    Ok(())
}

/// Prepares the database for its first use: the sequence of claims goes on, and plans know the sizes of the tables.
pub(super) async fn finish(session: &PgSession) -> PgResult<()> {
    session.batch("SELECT setval('turns', greatest((SELECT max(turn) FROM account_turns), 1))").await?;
    for table in TABLES {
        session.batch(&format!("ANALYZE {}", table.name)).await?;
    }
    Ok(())
}

/// Returns the columns of a table.
pub(super) async fn columns(session: &PgSession, table: &ImportTable) -> PgResult<Vec<TargetColumn>> {
    let sql = "SELECT attname::text AS name, atttypid AS kind FROM pg_attribute
               WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum";
    all(session, sql, &[&table.name], |row| {
        let name: String = field(row, "name")?;
        let kind = Type::from_oid(field(row, "kind")?);
        let unknown = || StoreError::Invalid(format!("the column {}.{name} has an unknown type", table.name));
        Ok(TargetColumn { kind: kind.ok_or_else(unknown)?, name })
    })
    .await
}

/// Returns the content of a table.
pub(super) async fn content(
    session: &PgSession,
    table: &ImportTable,
    columns: &[TargetColumn],
) -> PgResult<TableContent> {
    let sql = format!("SELECT {} FROM {} ORDER BY {}", names(columns), table.name, table.order);
    let mut rows = std::pin::pin!(session.stream(&sql).await?);
    let mut content = ContentWriter::default();
    while let Some(row) = rows.try_next().await? {
        let cells = (0..row.len()).map(|index| row.try_get(index)).collect::<Result<Vec<Cell>, _>>()?;
        content.add(&cells);
    }
    Ok(content.finish())
}

/// Returns the statement that takes the rows of a table.
pub(super) fn copy_statement(table: &ImportTable, columns: &[TargetColumn]) -> String {
    format!("COPY {} ({}) FROM STDIN BINARY", table.name, names(columns))
}

/// Returns the values of a row as the driver takes them.
pub(super) fn parameters(row: &[Cell]) -> Vec<&(dyn ToSql + Sync)> {
    row.iter().map(|cell| cell as &(dyn ToSql + Sync)).collect()
}

fn names(columns: &[TargetColumn]) -> String {
    let quoted: Vec<_> = columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
    quoted.join(", ")
}
