//! The table of events. Its rows are written by triggers; see `migrations/0004_events.sql`.

use assay_model::{JobId, Verdict};
use async_trait::async_trait;
use rusqlite::{Connection, Row};
use tokio::sync::watch;

use super::SqliteRecords;
use super::failure::SqlResult;
use super::row::{all, first, name, parsed, status, time, to_json};
use crate::{EventPosition, EventRecord, EventRecords, StoreError};

const COLUMNS: &str = "job_id, number, at, status, verdict, episodes_done, episodes_total, failure";

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

    async fn events_of(&self, positions: &[EventPosition], limit: u32) -> Result<Vec<EventRecord>, StoreError> {
        self.read("reading new events", |db| of_jobs(db, positions, limit))
    }

    fn changes(&self) -> watch::Receiver<()> {
        self.commits()
    }
}

/// Looks each position up in the index of jobs and numbers: `CROSS JOIN` keeps SQLite from reading all events instead.
fn of_jobs(db: &Connection, positions: &[EventPosition], limit: u32) -> SqlResult<Vec<EventRecord>> {
    let positions: Vec<_> = positions.iter().map(|position| (position.job_id, position.after)).collect();
    let sql = format!(
        "SELECT {COLUMNS} FROM json_each(?1) AS position CROSS JOIN events
         ON events.job_id = position.value ->> 0 AND number > position.value ->> 1
         ORDER BY position.key, number LIMIT ?2"
    );
    all(db, &sql, (to_json(&positions)?, limit), read)
}

fn read(row: &Row<'_>) -> SqlResult<EventRecord> {
    let verdict = |text: String| {
        let named = serde_json::from_value::<Verdict>(serde_json::Value::String(text));
        named.map_err(|e| StoreError::corrupt(name(row), "verdict", e))
    };
    Ok(EventRecord {
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
