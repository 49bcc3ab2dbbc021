//! The table of idempotency keys and stored responses (`answers`).

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, Row};

use super::failure::SqlResult;
use super::row::{all, change, first, micros, time, value};
use super::{SqliteRecords, jobs, submissions};
use crate::{
    IdempotencyClaim, IdempotencyRecords, IdempotencyStart, MAX_STORED_RESPONSES, NewJob, REQUEST_LEASE,
    RESPONSE_LIFETIME, StoreError, StoredResponse, SubmitOutcome,
};

#[async_trait]
impl IdempotencyRecords for SqliteRecords {
    async fn begin_request(&self, once: IdempotencyClaim, now: Timestamp) -> Result<IdempotencyStart, StoreError> {
        self.write("beginning a request", move |db| begin(db, &once, now)).await
    }

    async fn create_job_idempotently(
        &self,
        job: NewJob,
        once: IdempotencyClaim,
        answer: StoredResponse,
    ) -> Result<Option<u32>, StoreError> {
        let create = move |db: &Connection| {
            if finish(db, &once, &answer)? { jobs::create(db, &job).map(Some) } else { Ok(None) }
        };
        self.write("accepting a job", create).await
    }

    async fn submit_idempotently(
        &self,
        job: NewJob,
        (daily, day): (u32, Timestamp),
        once: IdempotencyClaim,
        answer: StoredResponse,
    ) -> Result<Option<SubmitOutcome>, StoreError> {
        let submit = move |db: &Connection| {
            if !holds(db, &once)? {
                return Ok(None);
            }
            let submitted = submissions::submit(db, &job, daily, day)?;
            if matches!(submitted, SubmitOutcome::Accepted { .. }) {
                finish(db, &once, &answer)?;
            }
            Ok(Some(submitted))
        };
        self.write("accepting a submission", submit).await
    }

    async fn finish_request(&self, once: IdempotencyClaim, answer: StoredResponse) -> Result<bool, StoreError> {
        self.write("storing a response", move |db| finish(db, &once, &answer)).await
    }

    async fn abandon_request(&self, once: IdempotencyClaim) -> Result<(), StoreError> {
        let sql = "DELETE FROM answers WHERE account = ?1 AND key = ?2 AND attempt = ?3 AND status IS NULL";
        let delete = move |db: &Connection| {
            change(db, sql, (once.account.as_str(), once.key.as_str(), once.attempt.to_string())).map(drop)
        };
        self.write("abandoning a request", delete).await
    }

    async fn purge_responses(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.write("purging responses", move |db| forget(db, now)).await
    }
}

fn begin(db: &Connection, once: &IdempotencyClaim, now: Timestamp) -> SqlResult<IdempotencyStart> {
    let sql = "SELECT key, request, begun_at, status, location, body FROM answers WHERE account = ?1 AND key = ?2";
    let found = first(db, sql, (once.account.as_str(), once.key.as_str()), |row| {
        Ok((row.get::<_, [u8; 32]>("request")?, time(row, "begun_at")?, answer(row)?))
    })?;
    if let Some((request, begun_at, answer)) = found {
        let age = now.duration_since(begun_at);
        let is_over = age >= if answer.is_some() { RESPONSE_LIFETIME } else { REQUEST_LEASE };
        match answer {
            _ if is_over => {}
            _ if request != once.request => return Ok(IdempotencyStart::Other),
            Some(answer) => return Ok(IdempotencyStart::Done(answer)),
            None => return Ok(IdempotencyStart::Running),
        }
    }
    let sql = "INSERT OR REPLACE INTO answers (account, key, request, attempt, begun_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    let values = (once.account.as_str(), once.key.as_str(), once.request, once.attempt.to_string(), micros(now));
    change(db, sql, values)?;
    Ok(IdempotencyStart::New)
}

fn answer(row: &Row<'_>) -> SqlResult<Option<StoredResponse>> {
    let Some(status) = row.get("status")? else { return Ok(None) };
    Ok(Some(StoredResponse { status, location: row.get("location")?, body: row.get("body")? }))
}

fn holds(db: &Connection, once: &IdempotencyClaim) -> SqlResult<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM answers WHERE account = ?1 AND key = ?2 AND attempt = ?3)";
    value(db, sql, (once.account.as_str(), once.key.as_str(), once.attempt.to_string()))
}

fn finish(db: &Connection, once: &IdempotencyClaim, answer: &StoredResponse) -> SqlResult<bool> {
    let sql = "UPDATE answers SET status = ?4, location = ?5, body = ?6
               WHERE account = ?1 AND key = ?2 AND attempt = ?3";
    let values = (
        once.account.as_str(),
        once.key.as_str(),
        once.attempt.to_string(),
        answer.status,
        &answer.location,
        &answer.body,
    );
    Ok(change(db, sql, values)? == 1)
}

fn forget(db: &Connection, now: Timestamp) -> SqlResult<u64> {
    let before = |age: SignedDuration| now.saturating_sub(age).map_or(i64::MIN, micros);
    let sql = "DELETE FROM answers WHERE begun_at <= ?1 OR (status IS NULL AND begun_at <= ?2)";
    let mut gone = change(db, sql, (before(RESPONSE_LIFETIME), before(REQUEST_LEASE)))?;
    let sql = "SELECT account, count(*) AS n FROM answers GROUP BY account HAVING n > ?1";
    for account in all(db, sql, [MAX_STORED_RESPONSES], |row| Ok(row.get::<_, String>("account")?))? {
        let sql = "DELETE FROM answers WHERE rowid IN (
                       SELECT rowid FROM answers WHERE account = ?1 ORDER BY begun_at DESC LIMIT -1 OFFSET ?2)";
        gone += change(db, sql, (account, MAX_STORED_RESPONSES))?;
    }
    Ok(gone as u64)
}

/// Frees all keys without a response. The caller holds the data folder, so their holders are dead.
pub(super) fn free_all(db: &Connection) -> SqlResult<()> {
    change(db, "DELETE FROM answers WHERE status IS NULL", []).map(drop)
}
