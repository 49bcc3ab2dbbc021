//! The table of idempotency keys and stored responses (`answers`).

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;

use super::failure::PgResult;
use super::row::{all, bytes32, change, field, first, micros, number, text, time, value};
use super::session::PgSession;
use super::{PostgresRecords, jobs, submissions};
use crate::{
    IdempotencyClaim, IdempotencyRecords, IdempotencyStart, MAX_STORED_RESPONSES, NewJob, REQUEST_LEASE,
    RESPONSE_LIFETIME, StoreError, StoredResponse, SubmitOutcome,
};

#[async_trait]
impl IdempotencyRecords for PostgresRecords {
    async fn begin_request(&self, claim: IdempotencyClaim, now: Timestamp) -> Result<IdempotencyStart, StoreError> {
        self.engine.write("beginning a request", |db| begin(db, &claim, now)).await
    }

    async fn create_job_idempotently(
        &self,
        job: NewJob,
        claim: IdempotencyClaim,
        response: StoredResponse,
    ) -> Result<Option<u32>, StoreError> {
        self.engine.write("accepting a job", |db| create_job(db, &job, &claim, &response)).await
    }

    async fn submit_idempotently(
        &self,
        job: NewJob,
        (daily, day): (u32, Timestamp),
        claim: IdempotencyClaim,
        response: StoredResponse,
    ) -> Result<Option<SubmitOutcome>, StoreError> {
        self.engine.write("accepting a submission", |db| submit(db, &job, (daily, day), &claim, &response)).await
    }

    async fn finish_request(&self, claim: IdempotencyClaim, response: StoredResponse) -> Result<bool, StoreError> {
        let (claim, response) = (&claim, &response);
        self.engine.write("storing a response", |db| async move { finish(&db, claim, response).await }).await
    }

    async fn abandon_request(&self, claim: IdempotencyClaim) -> Result<(), StoreError> {
        self.engine.write("abandoning a request", |db| abandon(db, &claim)).await
    }

    async fn purge_responses(&self, now: Timestamp) -> Result<u64, StoreError> {
        self.engine.write("purging responses", |db| purge(db, now)).await
    }
}

async fn begin(db: PgSession, claim: &IdempotencyClaim, now: Timestamp) -> PgResult<IdempotencyStart> {
    // Either inserts the row or waits for the transaction that inserted it.
    let sql = "INSERT INTO answers (account, key, request, attempt, begun_at) VALUES ($1, $2, $3, $4, $5)
               ON CONFLICT DO NOTHING";
    let (account, key) = (claim.account.as_str(), claim.key.as_str());
    let (request, now_stored) = (claim.request.as_slice(), micros(now));
    if change(&db, sql, &[&account, &key, &request, &claim.attempt, &now_stored]).await? == 1 {
        return Ok(IdempotencyStart::New);
    }
    let sql = "SELECT key, request, begun_at, status, location, body FROM answers
               WHERE account = $1 AND key = $2 FOR UPDATE";
    let found = first(&db, sql, &[&account, &key], |row| {
        Ok((bytes32(row, "request")?, time(row, "begun_at")?, response(row)?))
    })
    .await;
    // The row was deleted in between: the attempt that held it was abandoned at this moment.
    let Some((known, begun_at, stored)) = found? else { return Ok(IdempotencyStart::Running) };
    let is_over = now.duration_since(begun_at) >= if stored.is_some() { RESPONSE_LIFETIME } else { REQUEST_LEASE };
    match stored {
        _ if is_over => {}
        _ if known != claim.request => return Ok(IdempotencyStart::Other),
        Some(stored) => return Ok(IdempotencyStart::Done(stored)),
        None => return Ok(IdempotencyStart::Running),
    }
    let sql =
        "UPDATE answers SET request = $3, attempt = $4, begun_at = $5, status = NULL, location = NULL, body = NULL
               WHERE account = $1 AND key = $2";
    change(&db, sql, &[&account, &key, &request, &claim.attempt, &now_stored]).await?;
    Ok(IdempotencyStart::New)
}

async fn create_job(
    db: PgSession,
    job: &NewJob,
    claim: &IdempotencyClaim,
    response: &StoredResponse,
) -> PgResult<Option<u32>> {
    if finish(&db, claim, response).await? { jobs::create(&db, job).await.map(Some) } else { Ok(None) }
}

async fn submit(
    db: PgSession,
    job: &NewJob,
    (daily, day): (u32, Timestamp),
    claim: &IdempotencyClaim,
    response: &StoredResponse,
) -> PgResult<Option<SubmitOutcome>> {
    if !holds(&db, claim).await? {
        return Ok(None);
    }
    let submitted = submissions::submit(&db, job, daily, day).await?;
    if matches!(submitted, SubmitOutcome::Accepted { .. }) {
        finish(&db, claim, response).await?;
    }
    Ok(Some(submitted))
}

fn response(row: &Row) -> PgResult<Option<StoredResponse>> {
    if field::<Option<i64>>(row, "status")?.is_none() {
        return Ok(None);
    }
    let (location, body) = (field(row, "location")?, field(row, "body")?);
    Ok(Some(StoredResponse { status: number(row, "status")?, location, body }))
}

/// Returns true if the attempt holds the key, whose row is locked then.
async fn holds(db: &PgSession, claim: &IdempotencyClaim) -> PgResult<bool> {
    let sql = "SELECT key FROM answers WHERE account = $1 AND key = $2 AND attempt = $3 FOR UPDATE";
    let parameters: [super::row::Parameter<'_>; 3] = [&claim.account.as_str(), &claim.key.as_str(), &claim.attempt];
    Ok(first(db, sql, &parameters, |_| Ok(())).await?.is_some())
}

async fn finish(db: &PgSession, claim: &IdempotencyClaim, response: &StoredResponse) -> PgResult<bool> {
    let sql = "UPDATE answers SET status = $4, location = $5, body = $6
               WHERE account = $1 AND key = $2 AND attempt = $3";
    let changed = change(
        db,
        sql,
        &[
            &claim.account.as_str(),
            &claim.key.as_str(),
            &claim.attempt,
            &i64::from(response.status),
            &response.location,
            &response.body,
        ],
    )
    .await;
    Ok(changed? == 1)
}

async fn abandon(db: PgSession, claim: &IdempotencyClaim) -> PgResult<()> {
    let sql = "DELETE FROM answers WHERE account = $1 AND key = $2 AND attempt = $3 AND status IS NULL";
    change(&db, sql, &[&claim.account.as_str(), &claim.key.as_str(), &claim.attempt]).await.map(drop)
}

async fn purge(db: PgSession, now: Timestamp) -> PgResult<u64> {
    // One process at a time, since two would delete the same rows in different orders.
    if !value::<bool>(&db, "SELECT pg_try_advisory_xact_lock(hashtextextended('assay purge', 0))", &[]).await? {
        return Ok(0);
    }
    let before = |age: SignedDuration| now.saturating_sub(age).map_or(i64::MIN, micros);
    let sql = "DELETE FROM answers WHERE begun_at <= $1 OR (status IS NULL AND begun_at <= $2)";
    let mut gone = change(&db, sql, &[&before(RESPONSE_LIFETIME), &before(REQUEST_LEASE)]).await?;
    let most = i64::from(MAX_STORED_RESPONSES);
    let sql = "SELECT account FROM answers GROUP BY account HAVING count(*) > $1";
    for account in all(&db, sql, &[&most], |row| text(row, "account").map(str::to_owned)).await? {
        let sql = "DELETE FROM answers WHERE account = $1 AND key IN (
                       SELECT key FROM answers WHERE account = $1 ORDER BY begun_at DESC OFFSET $2)";
        gone += change(&db, sql, &[&account, &most]).await?;
    }
    Ok(gone)
}
