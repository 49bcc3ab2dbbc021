//! Requeues work with expired leases, and lists claimable work.
//!
//! Each job is a transaction of its own, so that the jobs of many accounts are never locked together. Several
//! processes may do this at the same time: whichever locks a job first sees the expired lease.

use std::collections::BTreeSet;

use assay_model::{Blame, JobId};
use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Row;

use super::failure::PgResult;
use super::row::{all, change, first, job_id, micros, number, time_or_null};
use super::session::PgSession;
use super::{PostgresRecords, attempt_notes, jobs, renders};
use crate::{JobFailure, MAX_LAPSES, ReconcileSummary, RecoveryRecords, StoreError, Work};

const DOING: &str = "reconciling";

#[async_trait]
impl RecoveryRecords for PostgresRecords {
    async fn reconcile(&self, now: Timestamp) -> Result<ReconcileSummary, StoreError> {
        let mut done = ReconcileSummary::default();
        for job in self.engine.query(DOING, |db| late_jobs(db, now)).await? {
            let part = self.engine.write(DOING, |db| requeue(db, job, now)).await?;
            done.requeued.extend(part.requeued);
            done.failed.extend(part.failed);
        }
        self.engine.write(DOING, |db| renders::reconcile(db, now)).await?;
        done.next_expiry = self.engine.query(DOING, next_expiry).await?;
        Ok(done)
    }

    async fn claimable(&self, limit: u32) -> Result<Vec<Work>, StoreError> {
        self.engine.read("looking for work", |db| claimable(db, limit)).await
    }
}

/// Lists the jobs of which a shard or the conclusion has an expired lease.
async fn late_jobs(db: PgSession, now: Timestamp) -> PgResult<BTreeSet<JobId>> {
    let sql = "SELECT job_id FROM shards WHERE state = 'LEASED' AND lease_until <= $1
               UNION
               SELECT job_id FROM jobs
               WHERE status = 'JUDGING' AND judge_worker IS NOT NULL AND judge_lease_until <= $1";
    Ok(all(&db, sql, &[&micros(now)], |row| job_id(row, "job_id")).await?.into_iter().collect())
}

/// Requeues the late work of a job, or fails the job.
async fn requeue(db: PgSession, job: JobId, now: Timestamp) -> PgResult<ReconcileSummary> {
    let mut done = ReconcileSummary::default();
    jobs::lock(&db, None, job).await?;
    let sql = "SELECT job_id, shard, lapses FROM shards
               WHERE job_id = $1 AND state = 'LEASED' AND lease_until <= $2 ORDER BY shard FOR NO KEY UPDATE";
    let late = all(&db, sql, &[&job.0, &micros(now)], |row| Ok((shard(row)?, number::<u32>(row, "lapses")?))).await?;
    for (work, lapses) in late {
        // An earlier shard may have just failed the job.
        if requeue_shard(&db, work).await? {
            settle(&db, (job, work), lapses, now, &mut done).await?;
        }
    }
    let sql = "UPDATE jobs SET judge_worker = NULL, judge_lease_until = NULL, judge_lapses = judge_lapses + 1
               WHERE job_id = $1 AND status = 'JUDGING' AND judge_worker IS NOT NULL AND judge_lease_until <= $2
               RETURNING job_id, judge_lapses - 1 AS lapses";
    let late = first(&db, sql, &[&job.0, &micros(now)], |row| number::<u32>(row, "lapses")).await?;
    if let Some(lapses) = late {
        settle(&db, (job, Work::Conclusion { job_id: job }), lapses, now, &mut done).await?;
    }
    Ok(done)
}

async fn settle(
    db: &PgSession,
    (job, work): (JobId, Work),
    lapses: u32,
    now: Timestamp,
    done: &mut ReconcileSummary,
) -> PgResult<()> {
    if lapses < MAX_LAPSES {
        done.requeued.push(work);
        return Ok(());
    }
    let message = format!("the workers of this job disappeared {} times in a row", lapses + 1);
    if jobs::fail(db, job, &JobFailure { blame: Blame::Platform, message }, now).await? {
        done.requeued.clear();
        done.failed.push(job);
    }
    Ok(())
}

/// Requeues a shard. Returns false if it is no longer leased.
async fn requeue_shard(db: &PgSession, work: Work) -> PgResult<bool> {
    let Work::Shard { job_id, shard } = work else { return Ok(false) };
    attempt_notes::lease_expired(db, job_id, shard).await?;
    let sql = "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL, lapses = lapses + 1
               WHERE job_id = $1 AND shard = $2 AND state = 'LEASED'";
    Ok(change(db, sql, &[&job_id.0, &i64::from(shard)]).await? == 1)
}

async fn next_expiry(db: PgSession) -> PgResult<Option<Timestamp>> {
    let sql = "SELECT least((SELECT min(lease_until) FROM shards WHERE state = 'LEASED'),
                            (SELECT min(judge_lease_until) FROM jobs
                             WHERE status = 'JUDGING' AND judge_worker IS NOT NULL),
                            (SELECT min(lease_until) FROM renders WHERE state = 'LEASED')) AS next";
    Ok(first(&db, sql, &[], |row| time_or_null(row, "next")).await?.flatten())
}

async fn claimable(db: PgSession, limit: u32) -> PgResult<Vec<Work>> {
    let sql = "SELECT job_id FROM jobs WHERE status = 'JUDGING' AND judge_worker IS NULL ORDER BY job_id LIMIT $1";
    let conclusion = |row: &Row| Ok(Work::Conclusion { job_id: job_id(row, "job_id")? });
    let mut work = all(&db, sql, &[&i64::from(limit)], conclusion).await?;
    let left = limit.saturating_sub(u32::try_from(work.len()).unwrap_or(u32::MAX));
    let sql = "SELECT job_id, shard FROM shards WHERE state = 'QUEUED' ORDER BY job_id, shard LIMIT $1";
    work.extend(all(&db, sql, &[&i64::from(left)], shard).await?);
    Ok(work)
}

fn shard(row: &Row) -> PgResult<Work> {
    Ok(Work::Shard { job_id: job_id(row, "job_id")?, shard: number(row, "shard")? })
}
