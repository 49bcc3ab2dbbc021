//! The tables of webhooks.

use assay_model::{AccountId, JobId, JobKind, Secret};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, Row};

use super::failure::SqlResult;
use super::row::{all, change, first, json, micros, name, parsed, text, time, time_or_null, to_json, value};
use super::{SqliteRecords, publication};
use crate::{
    Delivery, DeliveryAttempt, DeliveryFilter, DeliveryState, MAX_KEPT_ATTEMPTS, NewJob, StoreError, WebhookRecords,
    WebhookSecrets,
};

const COLUMNS: &str = "job_id, account, url, state, due_at, attempts, first_at, log";

#[async_trait]
impl WebhookRecords for SqliteRecords {
    async fn set_webhook_secret(
        &self,
        account: &AccountId,
        secret: Secret,
        previous_until: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let account = account.clone();
        let sql = "INSERT INTO webhook_secrets (account, secret, created_at) VALUES (?1, ?2, ?3)
                   ON CONFLICT (account) DO UPDATE SET
                       previous = secret, previous_until = ?4, secret = excluded.secret, created_at = excluded.created_at";
        let set = move |db: &Connection| {
            change(db, sql, (account.as_str(), secret.reveal(), micros(now), micros(previous_until))).map(drop)
        };
        self.write("setting a webhook secret", set).await
    }

    async fn webhook_secrets(&self, account: &AccountId) -> Result<Option<WebhookSecrets>, StoreError> {
        let sql =
            "SELECT account, secret, created_at, previous, previous_until FROM webhook_secrets WHERE account = ?1";
        self.query("reading a webhook secret", |db| first(db, sql, [account.as_str()], secrets))
    }

    async fn claim_delivery(
        &self,
        busy: &[AccountId],
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Delivery>, StoreError> {
        let busy = serde_json::to_string(busy).unwrap_or_default();
        // Reads first, because usually none is due and nothing needs to be written.
        let Some((id, was_due)) = self.read("looking for webhooks that are due", |db| next(db, &busy, now))? else {
            return Ok(None);
        };
        let until = now.saturating_add(lease).unwrap_or(Timestamp::MAX);
        let sql = "UPDATE webhook_deliveries SET due_at = ?3 WHERE job_id = ?1 AND state = 'PENDING' AND due_at = ?2";
        let given = id.clone();
        let claim = move |db: &Connection| Ok(change(db, sql, (given, was_due, micros(until)))? == 1);
        if !self.write("claiming a webhook", claim).await? {
            return Ok(None);
        }
        // Read last, so that an unreadable row blocks only itself.
        let sql = format!("SELECT {COLUMNS} FROM webhook_deliveries WHERE job_id = ?1");
        self.query("reading a webhook", |db| first(db, &sql, [&id], read))
    }

    async fn record_delivery_attempt(
        &self,
        job: JobId,
        attempt: DeliveryAttempt,
        state: DeliveryState,
        due_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.write("recording a delivery attempt", move |db| note(db, job, &attempt, state, due_at)).await
    }

    async fn deliveries(&self, filter: &DeliveryFilter) -> Result<(Vec<Delivery>, u64), StoreError> {
        self.read("listing webhooks", |db| list(db, filter))
    }
}

/// Creates the delivery of a new job with a callback URL.
pub(super) fn create(db: &Connection, job: &NewJob) -> SqlResult<()> {
    let Some(url) = &job.callback_url else { return Ok(()) };
    let sql = "INSERT INTO webhook_deliveries (job_id, account, url, state, due_at) VALUES (?1, ?2, ?3, 'PENDING', ?4)";
    let due = micros(job.header.created_at);
    change(db, sql, (job.header.job_id.to_string(), job.account.as_str(), url.reveal(), due)).map(drop)
}

/// Deletes the delivery of an erased job, with its address.
pub(super) fn erase(db: &Connection, job: &str) -> SqlResult<()> {
    change(db, "DELETE FROM webhook_deliveries WHERE job_id = ?1", [job]).map(drop)
}

/// Returns the oldest delivery due by `now`, excluding the accounts in the JSON list `busy`. Its job has ended, and the
/// end is published.
fn next(db: &Connection, busy: &str, now: Timestamp) -> SqlResult<Option<(String, i64)>> {
    let (submission, published) = (JobKind::Submission.as_str(), publication::status("?1"));
    let sql = format!(
        "SELECT webhook_deliveries.job_id, due_at FROM webhook_deliveries JOIN jobs ON jobs.job_id = webhook_deliveries.job_id
         WHERE state = 'PENDING' AND due_at <= ?1 AND jobs.completed_at IS NOT NULL
               AND (jobs.kind <> '{submission}' OR {published} IN ('COMPLETED', 'FAILED', 'CANCELLED'))
               AND webhook_deliveries.account NOT IN (SELECT value FROM json_each(?2))
         ORDER BY due_at LIMIT 1"
    );
    first(db, &sql, (micros(now), busy), |row| Ok((row.get(0)?, row.get(1)?)))
}

fn note(
    db: &Connection,
    job: JobId,
    attempt: &DeliveryAttempt,
    state: DeliveryState,
    due_at: Timestamp,
) -> SqlResult<()> {
    let id = job.to_string();
    let sql = "SELECT job_id, log FROM webhook_deliveries WHERE job_id = ?1 AND state = 'PENDING'";
    let Some(mut log) = first(db, sql, [&id], |row| json::<Vec<DeliveryAttempt>>(row, "log"))? else { return Ok(()) };
    log.push(attempt.clone());
    log.drain(..log.len().saturating_sub(MAX_KEPT_ATTEMPTS));
    let sql = "UPDATE webhook_deliveries
               SET state = ?2, due_at = ?3, log = ?4, attempts = attempts + 1, first_at = coalesce(first_at, ?5)
               WHERE job_id = ?1";
    change(db, sql, (&id, state.as_str(), micros(due_at), to_json(&log)?, micros(attempt.at))).map(drop)
}

fn list(db: &Connection, filter: &DeliveryFilter) -> SqlResult<(Vec<Delivery>, u64)> {
    let account = filter.account.as_ref().map(AccountId::as_str);
    let (job, state) = (filter.job.map(|id| id.to_string()), filter.state.map(DeliveryState::as_str));
    // Uses separate texts, so that SQLite uses the index of accounts.
    let owner = if account.is_some() { "account = ?1" } else { "?1 IS NULL" };
    let wanted = if job.is_some() { "job_id = ?2" } else { "?2 IS NULL" };
    let matching = format!("FROM webhook_deliveries WHERE {owner} AND {wanted} AND (?3 IS NULL OR state = ?3)");
    let page = format!("SELECT {COLUMNS} {matching} ORDER BY job_id DESC LIMIT ?4 OFFSET ?5");
    let found = all(db, &page, (account, &job, state, filter.limit, filter.offset), read)?;
    let total: i64 = value(db, &format!("SELECT count(*) {matching}"), (account, &job, state))?;
    Ok((found, total.unsigned_abs()))
}

fn secrets(row: &Row<'_>) -> SqlResult<WebhookSecrets> {
    let previous: Option<String> = row.get("previous")?;
    Ok(WebhookSecrets {
        current: Secret::new(text(row, "secret")?),
        created_at: time(row, "created_at")?,
        previous: previous.map(Secret::new).zip(time_or_null(row, "previous_until")?),
    })
}

fn read(row: &Row<'_>) -> SqlResult<Delivery> {
    let state = text(row, "state")?;
    let unknown = || StoreError::corrupt(name(row), "state", std::io::Error::other(format!("{state:?}")));
    Ok(Delivery {
        job_id: parsed(row, "job_id")?,
        account: parsed(row, "account")?,
        url: Secret::new(text(row, "url")?),
        state: DeliveryState::parse(state).ok_or_else(unknown)?,
        due_at: time(row, "due_at")?,
        attempts: row.get("attempts")?,
        first_at: time_or_null(row, "first_at")?,
        log: json(row, "log")?,
    })
}
