//! Between rows and types.

use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row};
use serde::de::DeserializeOwned;

use super::fail::Sql;
use crate::StoreError;

/// A time as it stands in a column.
pub(super) fn micros(time: Timestamp) -> i64 {
    time.as_microsecond()
}

pub(super) fn time(row: &Row<'_>, column: &'static str) -> Sql<Timestamp> {
    let value: i64 = row.get(column)?;
    Ok(Timestamp::from_microsecond(value).map_err(|e| StoreError::corrupt(name(row), column, e))?)
}

pub(super) fn time_or_null(row: &Row<'_>, column: &'static str) -> Sql<Option<Timestamp>> {
    match row.get::<_, Option<i64>>(column)? {
        None => Ok(None),
        Some(_) => time(row, column).map(Some),
    }
}

/// A column whose text has a type.
pub(super) fn parsed<T: FromStr>(row: &Row<'_>, column: &'static str) -> Sql<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let text = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    Ok(text.parse().map_err(|e| StoreError::corrupt(name(row), column, e))?)
}

/// A column of JSON.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> Sql<T> {
    let text = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    Ok(serde_json::from_str(text).map_err(|e| StoreError::corrupt(name(row), column, e))?)
}

pub(super) fn json_or_null<T: DeserializeOwned>(row: &Row<'_>, column: &'static str) -> Sql<Option<T>> {
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => json(row, column).map(Some),
    }
}

pub(super) fn to_json<T: serde::Serialize>(value: &T) -> Sql<String> {
    let made = serde_json::to_string(value);
    Ok(made.map_err(|e| StoreError::Corrupt { row: "a new row".into(), column: "json", source: Arc::new(e) })?)
}

/// For error messages: the first column, which is the id in every statement here.
pub(super) fn name(row: &Row<'_>) -> String {
    row.get::<_, String>(0).unwrap_or_else(|_| "a row".to_owned())
}

/// The first row, or none.
pub(super) fn first<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Sql<T>,
) -> Sql<Option<T>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(read).transpose()
}

/// All rows.
pub(super) fn all<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> Sql<T>,
) -> Sql<Vec<T>> {
    db.prepare_cached(sql)?.query_and_then(params, read)?.collect()
}

/// The single value of a single row.
pub(super) fn value<T: FromSql>(db: &Connection, sql: &str, params: impl Params) -> Sql<T> {
    Ok(db.prepare_cached(sql)?.query_row(params, |row| row.get(0))?)
}

/// Runs a change and returns the number of rows changed.
pub(super) fn change(db: &Connection, sql: &str, params: impl Params) -> Sql<usize> {
    Ok(db.prepare_cached(sql)?.execute(params)?)
}
