//! The table of workers on other hosts.

use assay_model::{JobId, Sha256Digest, WorkerRegistration};
use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;

use super::PostgresRecords;
use super::failure::{PgResult, is_taken};
use super::row::{
    Parameter, all, change, field, first, job_id, json_or_null, micros, number, text, time, time_or_null, to_json,
    unknown,
};
use super::session::PgSession;
use super::worker_removal::{has_absent, quarantine, requeue, revoke, unpin};
use crate::{NewWorker, StoreError, Work, WorkerName, WorkerRecord, WorkerRecords, WorkerRemoval, WorkerState};

/// The columns that [`read`] reads.
const COLUMNS: &str = "name, trusted, created_at, expires_at, state, reason, state_since, generation, registration, \
                       seen_at, (SELECT count(*) FROM shards WHERE shards.state = 'LEASED' \
                       AND shards.worker = 'host/' || workers.name) AS shards";

#[async_trait]
impl WorkerRecords for PostgresRecords {
    async fn create_worker(&self, worker: NewWorker) -> Result<(), StoreError> {
        self.engine.write("creating a worker", |db| create(db, &worker)).await
    }

    async fn worker_with_token(&self, token_hash: Sha256Digest) -> Result<Option<WorkerRecord>, StoreError> {
        self.engine.query("reading a worker", |db| with_token(db, token_hash)).await
    }

    async fn worker_named(&self, name: &WorkerName) -> Result<Option<WorkerRecord>, StoreError> {
        self.engine.query("reading a worker", |db| named(db, name)).await
    }

    async fn workers(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        self.engine.query("listing workers", list).await
    }

    async fn register_worker(
        &self,
        name: &WorkerName,
        registration: WorkerRegistration,
        now: Timestamp,
    ) -> Result<Option<(u32, Vec<Work>)>, StoreError> {
        self.engine.write("registering a worker", |db| register(db, name, &registration, now)).await
    }

    async fn leave_worker(&self, name: &WorkerName, generation: u32, now: Timestamp) -> Result<Vec<Work>, StoreError> {
        self.engine.write("ending a worker's registration", |db| leave(db, name, generation, now)).await
    }

    async fn touch_worker(&self, name: &WorkerName, now: Timestamp) -> Result<(), StoreError> {
        self.engine.write_lease("noting a worker's call", |db| touch(db, name, now)).await
    }

    async fn drain_worker(&self, name: &WorkerName, drain: bool, now: Timestamp) -> Result<bool, StoreError> {
        self.engine.write("draining a worker", |db| set_draining(db, name, drain, now)).await
    }

    async fn revoke_worker(&self, name: &WorkerName, now: Timestamp) -> Result<Option<WorkerRemoval>, StoreError> {
        self.engine.write("revoking a worker", |db| revoke(db, name, now)).await
    }

    async fn quarantine_worker(
        &self,
        name: &WorkerName,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<WorkerRemoval>, StoreError> {
        self.engine.write("quarantining a worker", |db| quarantine(db, name, reason, now)).await
    }

    async fn unpin_jobs(&self, machines: &[Sha256Digest], now: Timestamp) -> Result<Vec<Work>, StoreError> {
        let machines: Vec<String> = machines.iter().map(Sha256Digest::to_string).collect();
        if !self.engine.query("looking for jobs of absent machines", |db| has_absent(db, &machines)).await? {
            return Ok(Vec::new());
        }
        self.engine.write("unpinning jobs", |db| unpin(db, &machines, now)).await
    }

    async fn episodes_of_worker(&self, name: &WorkerName, limit: u32) -> Result<Vec<(JobId, u32)>, StoreError> {
        self.engine.query("listing a worker's episodes", |db| episodes(db, name, limit)).await
    }
}

async fn create(db: PgSession, worker: &NewWorker) -> PgResult<()> {
    let sql = "INSERT INTO workers (name, token_hash, trusted, created_at, expires_at, state, state_since)
               VALUES ($1, $2, $3, $4, $5, 'ACTIVE', $4)";
    let values: [Parameter<'_>; 5] = [
        &worker.name.as_str(),
        &worker.token_hash.as_bytes().as_slice(),
        &worker.trusted,
        &micros(worker.created_at),
        &worker.expires_at.map(micros),
    ];
    match change(&db, sql, &values).await {
        Ok(_) => Ok(()),
        Err(failure) if is_taken(&failure) => {
            Err(StoreError::Exists { what: "worker", id: worker.name.to_string() }.into())
        }
        Err(failure) => Err(failure),
    }
}

async fn with_token(db: PgSession, token_hash: Sha256Digest) -> PgResult<Option<WorkerRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM workers WHERE token_hash = $1");
    first(&db, &sql, &[&token_hash.as_bytes().as_slice()], read).await
}

async fn named(db: PgSession, name: &WorkerName) -> PgResult<Option<WorkerRecord>> {
    first(&db, &format!("SELECT {COLUMNS} FROM workers WHERE name = $1"), &[&name.as_str()], read).await
}

async fn list(db: PgSession) -> PgResult<Vec<WorkerRecord>> {
    all(&db, &format!("SELECT {COLUMNS} FROM workers ORDER BY name"), &[], read).await
}

async fn register(
    db: PgSession,
    name: &WorkerName,
    registration: &WorkerRegistration,
    now: Timestamp,
) -> PgResult<Option<(u32, Vec<Work>)>> {
    let sql = "UPDATE workers SET generation = generation + 1, registration = $2, seen_at = $3
               WHERE name = $1 AND state IN ('ACTIVE', 'DRAINING') AND (expires_at IS NULL OR expires_at > $3)
               RETURNING name, generation";
    let values: [Parameter<'_>; 3] = [&name.as_str(), &to_json(registration)?, &micros(now)];
    let generation = first(&db, sql, &values, |row| number::<u32>(row, "generation")).await?;
    let Some(generation) = generation else { return Ok(None) };
    Ok(Some((generation, requeue(&db, name).await?)))
}

async fn leave(db: PgSession, name: &WorkerName, generation: u32, now: Timestamp) -> PgResult<Vec<Work>> {
    let sql = "UPDATE workers SET generation = generation + 1, seen_at = $3 WHERE name = $1 AND generation = $2";
    let is_latest = change(&db, sql, &[&name.as_str(), &i64::from(generation), &micros(now)]).await? == 1;
    if is_latest { requeue(&db, name).await } else { Ok(Vec::new()) }
}

async fn touch(db: PgSession, name: &WorkerName, now: Timestamp) -> PgResult<()> {
    let sql = "UPDATE workers SET seen_at = greatest(seen_at, $2) WHERE name = $1";
    change(&db, sql, &[&name.as_str(), &micros(now)]).await.map(drop)
}

async fn set_draining(db: PgSession, name: &WorkerName, drain: bool, now: Timestamp) -> PgResult<bool> {
    let (from, to) = if drain { ("ACTIVE", "DRAINING") } else { ("DRAINING", "ACTIVE") };
    let sql = "UPDATE workers SET state = $3, state_since = $4 WHERE name = $1 AND state IN ($2, $3)";
    Ok(change(&db, sql, &[&name.as_str(), &from, &to, &micros(now)]).await? == 1)
}

async fn episodes(db: PgSession, name: &WorkerName, limit: u32) -> PgResult<Vec<(JobId, u32)>> {
    let sql = "SELECT job_id, episode FROM episodes WHERE worker = $1 ORDER BY job_id DESC, episode LIMIT $2";
    let read = |row: &Row| Ok((job_id(row, "job_id")?, number(row, "episode")?));
    all(&db, sql, &[&name.lease_holder(), &i64::from(limit)], read).await
}

fn read(row: &Row) -> PgResult<WorkerRecord> {
    let state = text(row, "state")?;
    let known = WorkerState::parse(state, field(row, "reason")?);
    let name = text(row, "name")?;
    Ok(WorkerRecord {
        name: WorkerName::parse(name).ok_or_else(|| unknown(row, "name", name))?,
        trusted: field(row, "trusted")?,
        created_at: time(row, "created_at")?,
        expires_at: time_or_null(row, "expires_at")?,
        state: known.ok_or_else(|| unknown(row, "state", state))?,
        state_since: time(row, "state_since")?,
        generation: number(row, "generation")?,
        registration: json_or_null(row, "registration")?,
        seen_at: time_or_null(row, "seen_at")?,
        shards: number(row, "shards")?,
    })
}
