//! The table of workers on other hosts.

use assay_model::{JobId, Sha256Digest, WorkerRegistration};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::SqliteRecords;
use super::failure::{SqlResult, is_taken};
use super::row::{all, change, field, first, json_or_null, micros, name, parsed, text, time, time_or_null, to_json};
use super::worker_removal::{ABSENT, UNTOUCHED, quarantine, requeue, revoke, unpin};
use crate::{NewWorker, StoreError, Work, WorkerName, WorkerRecord, WorkerRecords, WorkerRemoval, WorkerState};

/// The columns that [`read`] reads.
const COLUMNS: &str = "name, trusted, created_at, expires_at, state, reason, state_since, generation, registration, \
                       seen_at, (SELECT count(*) FROM shards WHERE state = 'LEASED' AND worker = 'host/' || name) AS shards";

#[async_trait]
impl WorkerRecords for SqliteRecords {
    async fn create_worker(&self, worker: NewWorker) -> Result<(), StoreError> {
        self.write("creating a worker", move |db| create(db, &worker)).await
    }

    async fn worker_with_token(&self, token_hash: Sha256Digest) -> Result<Option<WorkerRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM workers WHERE token_hash = ?1");
        self.query("reading a worker", |db| first(db, &sql, [token_hash.as_bytes().as_slice()], read))
    }

    async fn worker_named(&self, name: &WorkerName) -> Result<Option<WorkerRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM workers WHERE name = ?1");
        self.query("reading a worker", |db| first(db, &sql, [name.as_str()], read))
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM workers ORDER BY name");
        self.read("listing workers", |db| all(db, &sql, [], read))
    }

    async fn register_worker(
        &self,
        name: &WorkerName,
        registration: WorkerRegistration,
        now: Timestamp,
    ) -> Result<Option<(u32, Vec<Work>)>, StoreError> {
        let name = name.clone();
        self.write("registering a worker", move |db| register(db, &name, &registration, now)).await
    }

    async fn leave_worker(&self, name: &WorkerName, generation: u32, now: Timestamp) -> Result<Vec<Work>, StoreError> {
        let name = name.clone();
        self.write("ending a worker's registration", move |db| {
            let sql =
                "UPDATE workers SET generation = generation + 1, seen_at = ?3 WHERE name = ?1 AND generation = ?2";
            let is_latest = change(db, sql, (name.as_str(), generation, micros(now)))? == 1;
            if is_latest { requeue(db, &name) } else { Ok(Vec::new()) }
        })
        .await
    }

    async fn touch_worker(&self, name: &WorkerName, now: Timestamp) -> Result<(), StoreError> {
        let name = name.clone();
        let sql = "UPDATE workers SET seen_at = max(coalesce(seen_at, 0), ?2) WHERE name = ?1";
        self.write_lease("noting a worker's call", move |db| change(db, sql, (name.as_str(), micros(now))).map(drop))
            .await
    }

    async fn drain_worker(&self, name: &WorkerName, drain: bool, now: Timestamp) -> Result<bool, StoreError> {
        let name = name.clone();
        self.write("draining a worker", move |db| set_draining(db, &name, drain, now)).await
    }

    async fn revoke_worker(&self, name: &WorkerName, now: Timestamp) -> Result<Option<WorkerRemoval>, StoreError> {
        let name = name.clone();
        self.write("revoking a worker", move |db| revoke(db, &name, now)).await
    }

    async fn quarantine_worker(
        &self,
        name: &WorkerName,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<WorkerRemoval>, StoreError> {
        let (name, reason) = (name.clone(), reason.to_owned());
        self.write("quarantining a worker", move |db| quarantine(db, &name, &reason, now)).await
    }

    async fn unpin_jobs(&self, machines: &[Sha256Digest], now: Timestamp) -> Result<Vec<Work>, StoreError> {
        let machines = machines.iter().map(Sha256Digest::to_string).map(serde_json::Value::from);
        let machines = machines.collect::<serde_json::Value>().to_string();
        let gone = format!("SELECT 1 FROM shards WHERE {ABSENT} OR {UNTOUCHED} LIMIT 1");
        if self.read("looking for jobs of absent machines", |db| first(db, &gone, [&machines], |_| Ok(())))?.is_none() {
            return Ok(Vec::new());
        }
        self.write("unpinning jobs", move |db| unpin(db, &machines, now)).await
    }

    async fn episodes_of_worker(&self, name: &WorkerName, limit: u32) -> Result<Vec<(JobId, u32)>, StoreError> {
        let sql = "SELECT job_id, episode FROM episodes WHERE worker = ?1 ORDER BY job_id DESC, episode LIMIT ?2";
        let values = (name.lease_holder(), limit);
        self.read("listing a worker's episodes", |db| {
            all(db, sql, values, |row| Ok((parsed(row, "job_id")?, field(row, "episode")?)))
        })
    }
}

fn create(db: &Connection, worker: &NewWorker) -> SqlResult<()> {
    let sql = "INSERT INTO workers (name, token_hash, trusted, created_at, expires_at, state, state_since)
               VALUES (?1, ?2, ?3, ?4, ?5, 'ACTIVE', ?4)";
    let inserted = db.prepare_cached(sql)?.execute((
        worker.name.as_str(),
        worker.token_hash.as_bytes().as_slice(),
        worker.trusted,
        micros(worker.created_at),
        worker.expires_at.map(micros),
    ));
    match inserted {
        Ok(_) => Ok(()),
        Err(e) if is_taken(&e) => Err(StoreError::Exists { what: "worker", id: worker.name.to_string() }.into()),
        Err(e) => Err(e.into()),
    }
}

fn register(
    db: &Connection,
    name: &WorkerName,
    registration: &WorkerRegistration,
    now: Timestamp,
) -> SqlResult<Option<(u32, Vec<Work>)>> {
    let sql = "UPDATE workers SET generation = generation + 1, registration = ?2, seen_at = ?3
               WHERE name = ?1 AND state IN ('ACTIVE', 'DRAINING') AND (expires_at IS NULL OR expires_at > ?3)";
    if change(db, sql, (name.as_str(), to_json(registration)?, micros(now)))? == 0 {
        return Ok(None);
    }
    let sql = "SELECT generation FROM workers WHERE name = ?1";
    let generation = first(db, sql, [name.as_str()], |row| field(row, "generation"))?;
    let Some(generation) = generation else { return Ok(None) };
    Ok(Some((generation, requeue(db, name)?)))
}

fn set_draining(db: &Connection, name: &WorkerName, drain: bool, now: Timestamp) -> SqlResult<bool> {
    let (from, to) = if drain { ("ACTIVE", "DRAINING") } else { ("DRAINING", "ACTIVE") };
    let sql = "UPDATE workers SET state = ?3, state_since = ?4 WHERE name = ?1 AND state IN (?2, ?3)";
    Ok(change(db, sql, (name.as_str(), from, to, micros(now)))? == 1)
}

fn read(row: &Row<'_>) -> SqlResult<WorkerRecord> {
    let wrong = |column| StoreError::corrupt(name(row), column, std::io::Error::other("an unknown value"));
    let state = WorkerState::parse(text(row, "state")?, field(row, "reason")?);
    Ok(WorkerRecord {
        name: WorkerName::parse(text(row, "name")?).ok_or_else(|| wrong("name"))?,
        trusted: field(row, "trusted")?,
        created_at: time(row, "created_at")?,
        expires_at: time_or_null(row, "expires_at")?,
        state: state.ok_or_else(|| wrong("state"))?,
        state_since: time(row, "state_since")?,
        generation: field(row, "generation")?,
        registration: json_or_null(row, "registration")?,
        seen_at: time_or_null(row, "seen_at")?,
        shards: field(row, "shards")?,
    })
}
