//! Conversion between rows and types, and helpers for statements.

use std::str::FromStr;
use std::sync::Arc;

use assay_model::JobStatus;
use jiff::{SignedDuration, Timestamp};
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row};
use serde::de::DeserializeOwned;

use super::failure::SqlResult;
use crate::StoreError;

/// Reference to a column: its index in a row, and its name for error messages.
pub(super) trait ColumnRef: Copy {
    fn index(self, row: &Row<'_>) -> SqlResult<usize>;
    fn name(self) -> &'static str;
}

impl ColumnRef for &'static str {
    fn index(self, row: &Row<'_>) -> SqlResult<usize> {
        Ok(row.as_ref().column_index(self)?)
    }

    fn name(self) -> &'static str {
        self
    }
}

/// A column with a known index, for rows that are read very often: finding a column by name takes longer than reading
/// its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    index: usize,
    name: &'static str,
}

impl Column {
    /// Creates a reference to the column at `index`, from 0.
    pub(super) const fn nth(index: usize, name: &'static str) -> Self {
        Self { index, name }
    }
}

impl ColumnRef for Column {
    fn index(self, row: &Row<'_>) -> SqlResult<usize> {
        debug_assert_eq!(row.as_ref().column_name(self.index).ok(), Some(self.name));
        Ok(self.index)
    }

    fn name(self) -> &'static str {
        self.name
    }
}

/// Reads the value of a column.
pub(super) fn field<T: FromSql>(row: &Row<'_>, column: impl ColumnRef) -> SqlResult<T> {
    Ok(row.get(column.index(row)?)?)
}

/// Reads the text of a column.
pub(super) fn text<'a>(row: &'a Row<'_>, column: impl ColumnRef) -> SqlResult<&'a str> {
    Ok(row.get_ref(column.index(row)?)?.as_str().map_err(rusqlite::Error::from)?)
}

/// Returns a time as stored in a column.
pub(super) fn micros(time: Timestamp) -> i64 {
    time.as_microsecond()
}

pub(super) fn time(row: &Row<'_>, column: impl ColumnRef) -> SqlResult<Timestamp> {
    let value: i64 = field(row, column)?;
    Ok(Timestamp::from_microsecond(value).map_err(|e| StoreError::corrupt(name(row), column.name(), e))?)
}

pub(super) fn time_or_null(row: &Row<'_>, column: impl ColumnRef) -> SqlResult<Option<Timestamp>> {
    match field::<Option<i64>>(row, column)? {
        None => Ok(None),
        Some(_) => time(row, column).map(Some),
    }
}

/// Parses the text of a column.
pub(super) fn parsed<T: FromStr>(row: &Row<'_>, column: impl ColumnRef) -> SqlResult<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    Ok(text(row, column)?.parse().map_err(|e| StoreError::corrupt(name(row), column.name(), e))?)
}

/// Reads a column of JSON.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: impl ColumnRef) -> SqlResult<T> {
    Ok(serde_json::from_str(text(row, column)?).map_err(|e| StoreError::corrupt(name(row), column.name(), e))?)
}

pub(super) fn json_or_null<T: DeserializeOwned>(row: &Row<'_>, column: impl ColumnRef) -> SqlResult<Option<T>> {
    match row.get_ref(column.index(row)?)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => json(row, column).map(Some),
    }
}

pub(super) fn to_json<T: serde::Serialize>(value: &T) -> SqlResult<String> {
    let made = serde_json::to_string(value);
    Ok(made.map_err(|e| StoreError::Corrupt { row: "a new row".into(), column: "json", source: Arc::new(e) })?)
}

/// Returns the name of a row for error messages: the first column, which is the id in all statements here.
pub(super) fn name(row: &Row<'_>) -> String {
    row.get::<_, String>(0).unwrap_or_else(|_| "a row".to_owned())
}

/// Runs a query and reads the first row, if any.
pub(super) fn first<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
) -> SqlResult<Option<T>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(read).transpose()
}

/// Runs a query and reads all rows.
pub(super) fn all<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> SqlResult<T>,
) -> SqlResult<Vec<T>> {
    db.prepare_cached(sql)?.query_and_then(params, read)?.collect()
}

/// Runs a query for a single value.
pub(super) fn value<T: FromSql>(db: &Connection, sql: &str, params: impl Params) -> SqlResult<T> {
    Ok(db.prepare_cached(sql)?.query_row(params, |row| row.get(0))?)
}

/// Runs a change and returns the number of changed rows.
pub(super) fn change(db: &Connection, sql: &str, params: impl Params) -> SqlResult<usize> {
    Ok(db.prepare_cached(sql)?.execute(params)?)
}

/// Checks that a change affected one row. The statements of one transaction see one state, so a row that was just read
/// cannot have changed.
pub(super) fn expect_one(changed: usize, what: &'static str) -> SqlResult<()> {
    if changed == 1 {
        Ok(())
    } else {
        Err(StoreError::Invalid(format!("{changed} rows changed instead of {what}")).into())
    }
}

/// Reads the column `status` of a job.
pub(super) fn status(row: &Row<'_>) -> SqlResult<JobStatus> {
    status_in(row, "status")
}

pub(super) fn status_in(row: &Row<'_>, column: impl ColumnRef) -> SqlResult<JobStatus> {
    let text = text(row, column)?;
    Ok(JobStatus::parse(text)
        .ok_or_else(|| StoreError::corrupt(name(row), "status", std::io::Error::other(format!("{text:?}"))))?)
}

/// Returns the end of a lease that begins at `now`, as stored in a column.
pub(super) fn until(now: Timestamp, lease: SignedDuration) -> i64 {
    micros(now.saturating_add(lease).unwrap_or(Timestamp::MAX))
}
