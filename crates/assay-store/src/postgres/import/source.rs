//! The rows of the source.

use std::sync::Arc;

use rusqlite::{Row, Rows, Statement};
use tokio_postgres::types::Type;

use super::RecordsImportError;
use super::cell::Cell;
use super::tables::ImportTable;
use crate::sqlite::RecordsCopy;

/// A column of the target.
#[derive(Debug)]
pub(super) struct TargetColumn {
    pub(super) name: String,
    pub(super) kind: Type,
}

/// The query for the rows of a table.
pub(super) struct SourceRows<'a> {
    table: &'static ImportTable,
    columns: &'a [TargetColumn],
    statement: Statement<'a>,
}

impl<'a> SourceRows<'a> {
    /// Prepares the query for `columns` of `table`.
    pub(super) fn prepare(
        from: &'a RecordsCopy,
        table: &'static ImportTable,
        columns: &'a [TargetColumn],
    ) -> Result<Self, RecordsImportError> {
        let expression = |column: &TargetColumn| {
            let derived = table.derived.iter().find(|(name, _)| *name == column.name);
            derived.map_or_else(|| format!("\"{}\"", column.name), |(_, sql)| (*sql).to_owned())
        };
        let expressions: Vec<_> = columns.iter().map(expression).collect();
        let ImportTable { from: name, order, .. } = table;
        let sql = format!("SELECT {} FROM {name} ORDER BY {order}", expressions.join(", "));
        let statement = from.connection().prepare(&sql).map_err(RecordsCopy::read_failed)?;
        Ok(Self { table, columns, statement })
    }

    /// Runs the query.
    pub(super) fn query(&mut self) -> Result<OpenRows<'_>, RecordsImportError> {
        let rows = self.statement.query([]).map_err(RecordsCopy::read_failed)?;
        Ok(OpenRows { table: self.table, columns: self.columns, rows })
    }
}

/// Rows that are being read.
pub(super) struct OpenRows<'a> {
    table: &'static ImportTable,
    columns: &'a [TargetColumn],
    rows: Rows<'a>,
}

impl OpenRows<'_> {
    /// Returns the next row.
    pub(super) fn next(&mut self) -> Result<Option<Vec<Cell>>, RecordsImportError> {
        let Some(row) = self.rows.next().map_err(RecordsCopy::read_failed)? else { return Ok(None) };
        let mut cells = Vec::with_capacity(self.columns.len());
        for (index, column) in self.columns.iter().enumerate() {
            let value = row.get_ref(index).map_err(RecordsCopy::read_failed)?;
            let cell = Cell::convert(value, &column.kind).map_err(|source| RecordsImportError::Value {
                table: self.table.name,
                column: column.name.clone(),
                row: name(row),
                source: Arc::from(source),
            })?;
            cells.push(cell);
        }
        Ok(Some(cells))
    }
}

fn name(row: &Row<'_>) -> String {
    row.get(0).unwrap_or_else(|_| "a number".to_owned())
}
