//! The table of events. Its rows are written by a trigger; see `migrations/0002_events.sql`.

use assay_model::{JobId, Verdict};
use async_trait::async_trait;
use tokio::sync::watch;
use tokio_postgres::Row;

use super::PostgresRecords;
use super::failure::PgResult;
use super::row::{all, field, first, job_id, number, status, time, unknown};
use super::session::PgSession;
use crate::{EventPosition, EventRecord, EventRecords, StoreError};

const COLUMNS: &str = "job_id, number, at, status, verdict, episodes_done, episodes_total, failure";

#[async_trait]
impl EventRecords for PostgresRecords {
    async fn events(&self, job: JobId, after: u32, limit: u32) -> Result<Vec<EventRecord>, StoreError> {
        self.engine.query("reading a job's events", |db| of_job(db, job, after, limit)).await
    }

    async fn last_event(&self, job: JobId) -> Result<Option<EventRecord>, StoreError> {
        self.engine.query("reading a job's last event", |db| last(db, job)).await
    }

    async fn events_of(&self, positions: &[EventPosition], limit: u32) -> Result<Vec<EventRecord>, StoreError> {
        self.engine.query("reading new events", |db| of_jobs(db, positions, limit)).await
    }

    fn changes(&self) -> watch::Receiver<()> {
        self.engine.changes()
    }
}

async fn of_job(db: PgSession, job: JobId, after: u32, limit: u32) -> PgResult<Vec<EventRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM events WHERE job_id = $1 AND number > $2 ORDER BY number LIMIT $3");
    all(&db, &sql, &[&job.0, &i64::from(after), &i64::from(limit)], read).await
}

async fn last(db: PgSession, job: JobId) -> PgResult<Option<EventRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM events WHERE job_id = $1 ORDER BY number DESC LIMIT 1");
    first(&db, &sql, &[&job.0], read).await
}

/// Looks each position up in the index of jobs and numbers.
async fn of_jobs(db: PgSession, positions: &[EventPosition], limit: u32) -> PgResult<Vec<EventRecord>> {
    let jobs: Vec<_> = positions.iter().map(|position| position.job_id.0).collect();
    let numbers: Vec<i64> = positions.iter().map(|position| i64::from(position.after)).collect();
    let sql = format!(
        "SELECT found.* FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS position (job, after, place)
         CROSS JOIN LATERAL (SELECT {COLUMNS} FROM events WHERE job_id = position.job AND number > position.after
                             ORDER BY number LIMIT $3) AS found
         ORDER BY position.place, found.number LIMIT $3"
    );
    all(&db, &sql, &[&jobs, &numbers, &i64::from(limit)], read).await
}

fn read(row: &Row) -> PgResult<EventRecord> {
    let verdict = |text: String| {
        let named = serde_json::from_value::<Verdict>(serde_json::Value::String(text.clone()));
        named.map_err(|_| unknown(row, "verdict", &text))
    };
    Ok(EventRecord {
        job_id: job_id(row, "job_id")?,
        number: number(row, "number")?,
        at: time(row, "at")?,
        status: status(row)?,
        verdict: field::<Option<String>>(row, "verdict")?.map(verdict).transpose()?,
        episodes_done: number(row, "episodes_done")?,
        episodes_total: number(row, "episodes_total")?,
        failure: field(row, "failure")?,
    })
}
