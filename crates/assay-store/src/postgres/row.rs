//! Conversion between rows and types, and helpers for statements.

use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

use assay_model::{JobId, JobStatus};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, FromSqlOwned};
use uuid::Uuid;

use super::failure::PgResult;
pub(super) use super::session::Parameter;
use super::session::PgSession;
use crate::StoreError;

/// Reads the value of a column.
pub(super) fn field<'a, T: FromSql<'a>>(row: &'a Row, column: &'static str) -> PgResult<T> {
    Ok(row.try_get(column)?)
}

/// Reads the text of a column.
pub(super) fn text<'a>(row: &'a Row, column: &'static str) -> PgResult<&'a str> {
    field(row, column)
}

/// Reads a number that is stored as a `bigint`.
pub(super) fn number<T>(row: &Row, column: &'static str) -> PgResult<T>
where
    T: TryFrom<i64>,
    T::Error: std::error::Error + Send + Sync + 'static,
{
    let stored: i64 = field(row, column)?;
    Ok(T::try_from(stored).map_err(|e| StoreError::corrupt(name(row), column, e))?)
}

/// Returns an unsigned number as a `bigint`.
pub(super) fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads the id of a job.
pub(super) fn job_id(row: &Row, column: &'static str) -> PgResult<JobId> {
    field(row, column).map(JobId)
}

/// Returns a time as stored in a column.
pub(super) fn micros(time: Timestamp) -> i64 {
    time.as_microsecond()
}

pub(super) fn time(row: &Row, column: &'static str) -> PgResult<Timestamp> {
    let value: i64 = field(row, column)?;
    Ok(Timestamp::from_microsecond(value).map_err(|e| StoreError::corrupt(name(row), column, e))?)
}

pub(super) fn time_or_null(row: &Row, column: &'static str) -> PgResult<Option<Timestamp>> {
    match field::<Option<i64>>(row, column)? {
        None => Ok(None),
        Some(_) => time(row, column).map(Some),
    }
}

/// Parses the text of a column.
pub(super) fn parsed<T: FromStr>(row: &Row, column: &'static str) -> PgResult<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    Ok(text(row, column)?.parse().map_err(|e| StoreError::corrupt(name(row), column, e))?)
}

/// Reads a hash or a secret of 32 bytes.
pub(super) fn bytes32(row: &Row, column: &'static str) -> PgResult<[u8; 32]> {
    let stored: &[u8] = field(row, column)?;
    Ok(stored.try_into().map_err(|e| StoreError::corrupt(name(row), column, e))?)
}

/// Reads a column of JSON.
pub(super) fn json<T: DeserializeOwned>(row: &Row, column: &'static str) -> PgResult<T> {
    Ok(serde_json::from_str(text(row, column)?).map_err(|e| StoreError::corrupt(name(row), column, e))?)
}

pub(super) fn json_or_null<T: DeserializeOwned>(row: &Row, column: &'static str) -> PgResult<Option<T>> {
    match field::<Option<&str>>(row, column)? {
        None => Ok(None),
        Some(_) => json(row, column).map(Some),
    }
}

pub(super) fn to_json<T: serde::Serialize>(value: &T) -> PgResult<String> {
    let made = serde_json::to_string(value);
    Ok(made.map_err(|e| StoreError::Corrupt { row: "a new row".into(), column: "json", source: Arc::new(e) })?)
}

/// Returns a text as it can be stored: the engine's texts cannot contain the character U+0000.
pub(super) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { Cow::Borrowed(text) }
}

/// Returns the error of a column whose text has no meaning.
pub(super) fn unknown(row: &Row, column: &'static str, text: &str) -> StoreError {
    StoreError::corrupt(name(row), column, std::io::Error::other(format!("{text:?}")))
}

/// Reads the column `status` of a job.
pub(super) fn status(row: &Row) -> PgResult<JobStatus> {
    let text = text(row, "status")?;
    Ok(JobStatus::parse(text).ok_or_else(|| unknown(row, "status", text))?)
}

/// Returns the name of a row for error messages: the first column, which is an id in all statements here.
fn name(row: &Row) -> String {
    let id = row.try_get::<_, Uuid>(0).map(|id| id.to_string());
    id.or_else(|_| row.try_get::<_, String>(0)).unwrap_or_else(|_| "a row".to_owned())
}

/// Runs a query and reads the first row, if any.
pub(super) async fn first<T>(
    db: &PgSession,
    sql: &str,
    parameters: &[Parameter<'_>],
    read: impl FnOnce(&Row) -> PgResult<T>,
) -> PgResult<Option<T>> {
    let rows = db.rows(sql, parameters).await?;
    rows.first().map(read).transpose()
}

/// Runs a query and reads all rows.
pub(super) async fn all<T>(
    db: &PgSession,
    sql: &str,
    parameters: &[Parameter<'_>],
    read: impl FnMut(&Row) -> PgResult<T>,
) -> PgResult<Vec<T>> {
    db.rows(sql, parameters).await?.iter().map(read).collect()
}

/// Runs a query for a single value.
pub(super) async fn value<T: FromSqlOwned>(db: &PgSession, sql: &str, parameters: &[Parameter<'_>]) -> PgResult<T> {
    let rows = db.rows(sql, parameters).await?;
    match rows.first() {
        Some(row) => Ok(row.try_get(0)?),
        None => Err(StoreError::Invalid("a query for one value returned no row".into()).into()),
    }
}

/// Runs a query for a count.
pub(super) async fn count(db: &PgSession, sql: &str, parameters: &[Parameter<'_>]) -> PgResult<u64> {
    Ok(value::<i64>(db, sql, parameters).await?.unsigned_abs())
}

/// Runs a change and returns the number of changed rows.
pub(super) async fn change(db: &PgSession, sql: &str, parameters: &[Parameter<'_>]) -> PgResult<u64> {
    db.execute(sql, parameters).await
}

/// Checks that a change affected one row, which the transaction has locked.
pub(super) fn expect_one(changed: u64, what: &'static str) -> PgResult<()> {
    if changed == 1 {
        Ok(())
    } else {
        Err(StoreError::Invalid(format!("{changed} rows changed instead of {what}")).into())
    }
}

/// Returns the end of a lease that begins at `now`, as stored in a column.
pub(super) fn until(now: Timestamp, lease: SignedDuration) -> i64 {
    micros(now.saturating_add(lease).unwrap_or(Timestamp::MAX))
}
