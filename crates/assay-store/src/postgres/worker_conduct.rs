//! The tables of what limits workers on other hosts. Triggers forget what is over (see their migration).

use assay_model::{Fence, JobId};
use async_trait::async_trait;
use jiff::Timestamp;

use super::PostgresRecords;
use super::failure::PgResult;
use super::row::{Parameter, all, bigint, change, field, job_id, micros, number, time, value};
use super::session::PgSession;
use crate::worker_conduct::MAX_COUNTED_CLAIMS;
use crate::{ClaimsWithoutResult, ExcludedShards, StoreError, WorkerConduct, WorkerConductRecords, WorkerName};

#[async_trait]
impl WorkerConductRecords for PostgresRecords {
    async fn conduct_of_worker(&self, worker: &WorkerName, now: Timestamp) -> Result<WorkerConduct, StoreError> {
        self.engine.query("reading a worker's conduct", |db| of(db, worker, now)).await
    }

    async fn count_worker_claims(
        &self,
        worker: &WorkerName,
        job: JobId,
        count: u32,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.engine.write_lease("counting a worker's claim", |db| count_claims(db, worker, (job, count), now)).await
    }

    async fn leave_shard_to_others(
        &self,
        worker: &WorkerName,
        job: JobId,
        shard: u32,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        self.engine.write_lease("leaving a shard to others", |db| leave(db, worker, (job, shard), until)).await
    }

    async fn confirm_left_shard(&self, job: JobId, shard: u32) -> Result<(), StoreError> {
        self.engine.write_lease("confirming a failure", |db| confirm(db, (job, shard))).await
    }

    async fn count_failed_audit(&self, claim: Fence, episode: u32) -> Result<u32, StoreError> {
        self.engine.write_lease("counting a failed audit", |db| count_audit(db, claim, episode)).await
    }

    async fn reserve_worker_evidence(
        &self,
        worker: &WorkerName,
        job: JobId,
        bytes: u64,
        most: u64,
    ) -> Result<bool, StoreError> {
        self.engine.write_lease("reserving space for evidence", |db| reserve(db, worker, job, (bytes, most))).await
    }
}

async fn of(db: PgSession, worker: &WorkerName, now: Timestamp) -> PgResult<WorkerConduct> {
    let sql = "SELECT job_id, NULL AS shard, claims, claimed_at FROM worker_conduct WHERE worker = $1 AND claims > 0
               UNION ALL
               SELECT job_id, shard, 0, 0 FROM left_shards WHERE worker = $1 AND left_until > $2
               ORDER BY job_id, shard";
    let mut conduct = WorkerConduct::default();
    all(&db, sql, &[&worker.lease_holder(), &micros(now)], |row| {
        let job = job_id(row, "job_id")?;
        match field::<Option<i64>>(row, "shard")? {
            Some(_) => conduct.left.push(ExcludedShards { job, shard: Some(number(row, "shard")?) }),
            None => {
                let (count, last) = (number(row, "claims")?, time(row, "claimed_at")?);
                conduct.claims.push(ClaimsWithoutResult { job, count, last });
            }
        }
        Ok(())
    })
    .await?;
    Ok(conduct)
}

async fn count_claims(db: PgSession, worker: &WorkerName, (job, count): (JobId, u32), now: Timestamp) -> PgResult<()> {
    let sql = "INSERT INTO worker_conduct (worker, job_id, claims, claimed_at)
               SELECT $1, job_id, $3, $4 FROM jobs WHERE job_id = $2 AND status IN ('QUEUED', 'RUNNING')
               ON CONFLICT (worker, job_id) DO UPDATE
               SET claims = least(worker_conduct.claims + excluded.claims, $5), claimed_at = excluded.claimed_at";
    let most = i64::from(MAX_COUNTED_CLAIMS);
    let values: [Parameter<'_>; 5] = [&worker.lease_holder(), &job.0, &i64::from(count), &micros(now), &most];
    change(&db, sql, &values).await.map(drop)
}

async fn leave(db: PgSession, worker: &WorkerName, (job, shard): (JobId, u32), until: Timestamp) -> PgResult<bool> {
    let (holder, shard) = (worker.lease_holder(), i64::from(shard));
    // The reports of two workers at the same time wait for each other.
    let sql = "SELECT pg_advisory_xact_lock(hashtextextended($1::text || '/' || $2, 0))";
    db.rows(sql, &[&job.0.to_string(), &shard.to_string()]).await?;
    let sql = "DELETE FROM left_shards WHERE job_id = $1 AND shard = $2 AND worker <> $3";
    change(&db, sql, &[&job.0, &shard, &holder]).await?;
    let sql = "INSERT INTO left_shards (job_id, shard, worker, left_until)
               SELECT job_id, $2, $3, $4 FROM jobs WHERE job_id = $1 AND status IN ('QUEUED', 'RUNNING')
               ON CONFLICT DO NOTHING";
    Ok(change(&db, sql, &[&job.0, &shard, &holder, &micros(until)]).await? == 1)
}

async fn confirm(db: PgSession, (job, shard): (JobId, u32)) -> PgResult<()> {
    let sql = "DELETE FROM left_shards WHERE job_id = $1 AND shard = $2";
    change(&db, sql, &[&job.0, &i64::from(shard)]).await.map(drop)
}

async fn count_audit(db: PgSession, claim: Fence, episode: u32) -> PgResult<u32> {
    let sql = "INSERT INTO failed_audits (job_id, episode, attempt, tries) VALUES ($1, $2, $3, 1)
               ON CONFLICT (job_id, episode) DO UPDATE
               SET tries = CASE failed_audits.attempt WHEN excluded.attempt THEN failed_audits.tries + 1 ELSE 1 END,
                   attempt = excluded.attempt
               RETURNING tries";
    let tries: i64 = value(&db, sql, &[&claim.job_id.0, &i64::from(episode), &i64::from(claim.attempt)]).await?;
    Ok(u32::try_from(tries).unwrap_or(u32::MAX))
}

async fn reserve(db: PgSession, worker: &WorkerName, job: JobId, (bytes, most): (u64, u64)) -> PgResult<bool> {
    let sql = "INSERT INTO worker_conduct (worker, job_id, evidence_bytes)
               SELECT $1, job_id, $3::bigint FROM jobs
               WHERE job_id = $2 AND status IN ('QUEUED', 'RUNNING') AND $3 <= $4
               ON CONFLICT (worker, job_id) DO UPDATE
               SET evidence_bytes = worker_conduct.evidence_bytes + excluded.evidence_bytes
               WHERE worker_conduct.evidence_bytes <= $4 - excluded.evidence_bytes";
    let values: [Parameter<'_>; 4] = [&worker.lease_holder(), &job.0, &bigint(bytes), &bigint(most)];
    Ok(change(&db, sql, &values).await? == 1)
}
