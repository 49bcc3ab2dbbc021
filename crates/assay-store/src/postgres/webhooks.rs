//! The tables of webhooks.

use assay_model::{AccountId, JobId, JobKind, Secret};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use super::failure::PgResult;
use super::row::{
    Parameter, all, change, count, field, first, job_id, json, micros, number, parsed, text, time, time_or_null,
    to_json, unknown, until,
};
use super::session::PgSession;
use super::{PostgresRecords, publication};
use crate::{
    Delivery, DeliveryAttempt, DeliveryFilter, DeliveryState, MAX_KEPT_ATTEMPTS, NewJob, StoreError, WebhookRecords,
    WebhookSecrets,
};

const COLUMNS: &str = "job_id, account, url, state, due_at, attempts, first_at, log";

#[async_trait]
impl WebhookRecords for PostgresRecords {
    async fn set_webhook_secret(
        &self,
        account: &AccountId,
        secret: Secret,
        previous_until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let times = (previous_until, now);
        self.engine.write("setting a webhook secret", |db| set_secret(db, account, &secret, times)).await
    }

    async fn webhook_secrets(&self, account: &AccountId) -> Result<Option<WebhookSecrets>, StoreError> {
        self.engine.query("reading a webhook secret", |db| secrets(db, account)).await
    }

    async fn claim_delivery(
        &self,
        busy: &[AccountId],
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Delivery>, StoreError> {
        // Reads first, because usually none is due and nothing needs to be written.
        let due = self.engine.query("looking for webhooks that are due", |db| next(db, busy, now)).await?;
        let Some((id, was_due)) = due else { return Ok(None) };
        let until = until(now, lease);
        if !self.engine.write("claiming a webhook", |db| claim(db, id, was_due, until)).await? {
            return Ok(None);
        }
        // Read last, so that an unreadable row blocks only itself.
        self.engine.query("reading a webhook", |db| get(db, id)).await
    }

    async fn record_delivery_attempt(
        &self,
        job: JobId,
        attempt: DeliveryAttempt,
        state: DeliveryState,
        due_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.engine.write("recording a delivery attempt", |db| note(db, job, &attempt, (state, due_at))).await
    }

    async fn deliveries(&self, filter: &DeliveryFilter) -> Result<(Vec<Delivery>, u64), StoreError> {
        self.engine.read("listing webhooks", |db| list(db, filter)).await
    }
}

async fn set_secret(
    db: PgSession,
    account: &AccountId,
    secret: &Secret,
    (previous_until, now): (Timestamp, Timestamp),
) -> PgResult<()> {
    let sql = "INSERT INTO webhook_secrets AS known (account, secret, created_at) VALUES ($1, $2, $3)
               ON CONFLICT (account) DO UPDATE SET previous = known.secret, previous_until = $4,
                                                   secret = excluded.secret, created_at = excluded.created_at";
    let values: [Parameter<'_>; 4] = [&account.as_str(), &secret.reveal(), &micros(now), &micros(previous_until)];
    change(&db, sql, &values).await.map(drop)
}

async fn secrets(db: PgSession, account: &AccountId) -> PgResult<Option<WebhookSecrets>> {
    let sql = "SELECT account, secret, created_at, previous, previous_until FROM webhook_secrets WHERE account = $1";
    first(&db, sql, &[&account.as_str()], |row| {
        let previous: Option<String> = field(row, "previous")?;
        Ok(WebhookSecrets {
            current: Secret::new(text(row, "secret")?),
            created_at: time(row, "created_at")?,
            previous: previous.map(Secret::new).zip(time_or_null(row, "previous_until")?),
        })
    })
    .await
}

/// Creates the delivery of a new job with a callback URL.
pub(super) async fn create(db: &PgSession, job: &NewJob) -> PgResult<()> {
    let Some(url) = &job.callback_url else { return Ok(()) };
    let sql = "INSERT INTO webhook_deliveries (job_id, account, url, state, due_at) VALUES ($1, $2, $3, 'PENDING', $4)";
    let due = micros(job.header.created_at);
    change(db, sql, &[&job.header.job_id.0, &job.account.as_str(), &url.reveal(), &due]).await.map(drop)
}

/// Deletes the delivery of an erased job, with its address.
pub(super) async fn erase(db: &PgSession, job: JobId) -> PgResult<()> {
    change(db, "DELETE FROM webhook_deliveries WHERE job_id = $1", &[&job.0]).await.map(drop)
}

/// Returns the oldest delivery due by `now`, excluding the accounts `busy`. Its job has ended, and the end is
/// published.
async fn next(db: PgSession, busy: &[AccountId], now: Timestamp) -> PgResult<Option<(Uuid, i64)>> {
    let (submission, published) = (JobKind::Submission.as_str(), publication::status("$1"));
    let sql = format!(
        "SELECT webhook_deliveries.job_id, due_at
         FROM webhook_deliveries JOIN jobs ON jobs.job_id = webhook_deliveries.job_id
         WHERE state = 'PENDING' AND due_at <= $1 AND jobs.completed_at IS NOT NULL
               AND (jobs.kind <> '{submission}' OR {published} IN ('COMPLETED', 'FAILED', 'CANCELLED'))
               AND webhook_deliveries.account <> ALL($2)
         ORDER BY due_at LIMIT 1"
    );
    let busy: Vec<&str> = busy.iter().map(AccountId::as_str).collect();
    first(&db, &sql, &[&micros(now), &busy], |row| Ok((field(row, "job_id")?, field(row, "due_at")?))).await
}

async fn claim(db: PgSession, id: Uuid, was_due: i64, until: i64) -> PgResult<bool> {
    let sql = "UPDATE webhook_deliveries SET due_at = $3 WHERE job_id = $1 AND state = 'PENDING' AND due_at = $2";
    Ok(change(&db, sql, &[&id, &was_due, &until]).await? == 1)
}

async fn get(db: PgSession, id: Uuid) -> PgResult<Option<Delivery>> {
    first(&db, &format!("SELECT {COLUMNS} FROM webhook_deliveries WHERE job_id = $1"), &[&id], read).await
}

async fn note(
    db: PgSession,
    job: JobId,
    attempt: &DeliveryAttempt,
    (state, due_at): (DeliveryState, Timestamp),
) -> PgResult<()> {
    let sql = "SELECT job_id, log FROM webhook_deliveries WHERE job_id = $1 AND state = 'PENDING' FOR NO KEY UPDATE";
    let log = first(&db, sql, &[&job.0], |row| json::<Vec<DeliveryAttempt>>(row, "log")).await?;
    let Some(mut log) = log else { return Ok(()) };
    log.push(attempt.clone());
    log.drain(..log.len().saturating_sub(MAX_KEPT_ATTEMPTS));
    let sql = "UPDATE webhook_deliveries
               SET state = $2, due_at = $3, log = $4, attempts = attempts + 1, first_at = coalesce(first_at, $5)
               WHERE job_id = $1";
    let values: [Parameter<'_>; 5] = [&job.0, &state.as_str(), &micros(due_at), &to_json(&log)?, &micros(attempt.at)];
    change(&db, sql, &values).await.map(drop)
}

async fn list(db: PgSession, filter: &DeliveryFilter) -> PgResult<(Vec<Delivery>, u64)> {
    let account = filter.account.as_ref().map(AccountId::as_str);
    let (job, state) = (filter.job.map(|id| id.0), filter.state.map(DeliveryState::as_str));
    let matching = "FROM webhook_deliveries WHERE ($1::text IS NULL OR account = $1)
                    AND ($2::uuid IS NULL OR job_id = $2) AND ($3::text IS NULL OR state = $3)";
    let page = format!("SELECT {COLUMNS} {matching} ORDER BY job_id DESC LIMIT $4 OFFSET $5");
    let (limit, offset) = (i64::from(filter.limit), i64::from(filter.offset));
    let found = all(&db, &page, &[&account, &job, &state, &limit, &offset], read).await?;
    let total = count(&db, &format!("SELECT count(*) {matching}"), &[&account, &job, &state]).await?;
    Ok((found, total))
}

fn read(row: &Row) -> PgResult<Delivery> {
    let state = text(row, "state")?;
    Ok(Delivery {
        job_id: job_id(row, "job_id")?,
        account: parsed(row, "account")?,
        url: Secret::new(text(row, "url")?),
        state: DeliveryState::parse(state).ok_or_else(|| unknown(row, "state", state))?,
        due_at: time(row, "due_at")?,
        attempts: number(row, "attempts")?,
        first_at: time_or_null(row, "first_at")?,
        log: json(row, "log")?,
    })
}
