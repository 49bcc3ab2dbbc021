//! The table of events. Its rows are written by triggers; see `migrations/0004_events.sql`.

use assay_model::{JobId, Verdict};
use async_trait::async_trait;
use rusqlite::{Connection, Row};
use tokio::sync::watch;

use super::SqliteRecords;
use super::failure::SqlResult;
use super::row::{all, first, name, parsed, status, time, value};
use crate::{EventRecord, EventRecords, StoreError};

const COLUMNS: &str = "job_id, event, number, at, status, verdict, episodes_done, episodes_total, failure";

#[async_trait]
impl EventRecords for SqliteRecords {
    async fn events(&self, job: JobId, after: u32, limit: u32) -> Result<Vec<EventRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE job_id = ?1 AND number > ?2 ORDER BY number LIMIT ?3");
        self.read("reading a job's events", |db| all(db, &sql, (job.to_string(), after, limit), read))
    }

    async fn last_event(&self, job: JobId) -> Result<Option<EventRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM events WHERE job_id = ?1 ORDER BY number DESC LIMIT 1");
        self.read("reading a job's last event", |db| first(db, &sql, [job.to_string()], read))
    }

    async fn newest_event(&self) -> Result<u64, StoreError> {
        self.read("looking for the newest event", newest)
    }

    async fn events_after(&self, event: u64, limit: u32) -> Result<Vec<EventRecord>, StoreError> {
        let after = i64::try_from(event).unwrap_or(i64::MAX);
        let sql = format!("SELECT {COLUMNS} FROM events WHERE event > ?1 ORDER BY event LIMIT ?2");
        self.read("reading new events", |db| all(db, &sql, (after, limit), read))
    }

    fn changes(&self) -> watch::Receiver<()> {
        self.commits()
    }
}

fn newest(db: &Connection) -> SqlResult<u64> {
    Ok(value::<Option<i64>>(db, "SELECT max(event) FROM events", [])?.unwrap_or(0).unsigned_abs())
}

fn read(row: &Row<'_>) -> SqlResult<EventRecord> {
    let verdict = |text: String| {
        let named = serde_json::from_value::<Verdict>(serde_json::Value::String(text));
        named.map_err(|e| StoreError::corrupt(name(row), "verdict", e))
    };
    Ok(EventRecord {
        event: row.get::<_, i64>("event")?.unsigned_abs(),
        job_id: parsed(row, "job_id")?,
        number: row.get("number")?,
        at: time(row, "at")?,
        status: status(row)?,
        verdict: row.get::<_, Option<String>>("verdict")?.map(verdict).transpose()?,
        episodes_done: row.get("episodes_done")?,
        episodes_total: row.get("episodes_total")?,
        failure: row.get("failure")?,
    })
}
