//! The tables of what limits workers on other hosts. Triggers forget what is over (see their migration).

use assay_model::{Fence, JobId};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::Connection;

use super::SqliteRecords;
use super::failure::SqlResult;
use super::row::{all, change, field, micros, parsed, time, value};
use crate::worker_conduct::MAX_COUNTED_CLAIMS;
use crate::{ClaimsWithoutResult, ExcludedShards, StoreError, WorkerConduct, WorkerConductRecords, WorkerName};

#[async_trait]
impl WorkerConductRecords for SqliteRecords {
    async fn conduct_of_worker(&self, worker: &WorkerName, now: Timestamp) -> Result<WorkerConduct, StoreError> {
        self.read("reading a worker's conduct", |db| of(db, worker, now))
    }

    async fn count_worker_claims(
        &self,
        worker: &WorkerName,
        job: JobId,
        count: u32,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = (worker.lease_holder(), job.to_string(), count, micros(now), MAX_COUNTED_CLAIMS);
        let sql = "INSERT INTO worker_conduct (worker, job_id, claims, claimed_at)
                   SELECT ?1, job_id, ?3, ?4 FROM jobs WHERE job_id = ?2 AND status IN ('QUEUED', 'RUNNING')
                   ON CONFLICT (worker, job_id) DO UPDATE
                   SET claims = min(claims + excluded.claims, ?5), claimed_at = excluded.claimed_at";
        self.write_lease("counting a worker's claim", move |db| change(db, sql, values).map(drop)).await
    }

    async fn leave_shard_to_others(
        &self,
        worker: &WorkerName,
        job: JobId,
        shard: u32,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let worker = worker.lease_holder();
        self.write_lease("leaving a shard to others", move |db| leave(db, &worker, (job, shard), until)).await
    }

    async fn confirm_left_shard(&self, job: JobId, shard: u32) -> Result<(), StoreError> {
        let sql = "DELETE FROM left_shards WHERE job_id = ?1 AND shard = ?2";
        self.write_lease("confirming a failure", move |db| change(db, sql, (job.to_string(), shard)).map(drop)).await
    }

    async fn count_failed_audit(&self, claim: Fence, episode: u32) -> Result<u32, StoreError> {
        self.write_lease("counting a failed audit", move |db| {
            let values = (claim.job_id.to_string(), episode, claim.attempt);
            let sql = "INSERT INTO failed_audits (job_id, episode, attempt, tries) VALUES (?1, ?2, ?3, 1)
                       ON CONFLICT (job_id, episode) DO UPDATE
                       SET tries = iif(attempt = excluded.attempt, tries + 1, 1), attempt = excluded.attempt
                       RETURNING tries";
            value(db, sql, values)
        })
        .await
    }

    async fn reserve_worker_evidence(
        &self,
        worker: &WorkerName,
        job: JobId,
        bytes: u64,
        most: u64,
    ) -> Result<bool, StoreError> {
        let number = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let values = (worker.lease_holder(), job.to_string(), number(bytes), number(most));
        let sql = "INSERT INTO worker_conduct (worker, job_id, evidence_bytes)
                   SELECT ?1, job_id, ?3 FROM jobs
                   WHERE job_id = ?2 AND status IN ('QUEUED', 'RUNNING') AND ?3 <= ?4
                   ON CONFLICT (worker, job_id) DO UPDATE SET evidence_bytes = evidence_bytes + excluded.evidence_bytes
                   WHERE evidence_bytes <= ?4 - excluded.evidence_bytes";
        self.write_lease("reserving space for evidence", move |db| Ok(change(db, sql, values)? == 1)).await
    }
}

fn of(db: &Connection, worker: &WorkerName, now: Timestamp) -> SqlResult<WorkerConduct> {
    let sql = "SELECT job_id, claims, claimed_at FROM worker_conduct WHERE worker = ?1 AND claims > 0 ORDER BY job_id";
    let claims = all(db, sql, [worker.lease_holder()], |row| {
        let (job, last) = (parsed(row, "job_id")?, time(row, "claimed_at")?);
        Ok(ClaimsWithoutResult { job, count: field(row, "claims")?, last })
    })?;
    let sql = "SELECT job_id, shard FROM left_shards WHERE worker = ?1 AND left_until > ?2 ORDER BY job_id, shard";
    let left = all(db, sql, (worker.lease_holder(), micros(now)), |row| {
        Ok(ExcludedShards { job: parsed(row, "job_id")?, shard: Some(field(row, "shard")?) })
    })?;
    Ok(WorkerConduct { claims, left })
}

fn leave(db: &Connection, worker: &str, (job, shard): (JobId, u32), until: Timestamp) -> SqlResult<bool> {
    let id = job.to_string();
    change(db, "DELETE FROM left_shards WHERE job_id = ?1 AND shard = ?2 AND worker <> ?3", (&id, shard, worker))?;
    let sql = "INSERT INTO left_shards (job_id, shard, worker, left_until)
               SELECT job_id, ?2, ?3, ?4 FROM jobs WHERE job_id = ?1 AND status IN ('QUEUED', 'RUNNING')
               ON CONFLICT DO NOTHING";
    Ok(change(db, sql, (&id, shard, worker, micros(until)))? == 1)
}
