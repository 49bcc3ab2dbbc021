//! Takes a worker on another host out of service: its leases are void, and after a quarantine its results of unfinished
//! jobs are discarded.

use assay_model::{AttemptNote, Blame, EpisodeResult, JobHeader, JobId, JobStatus, ReplacedAttempt, sanitise};
use jiff::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::failure::PgResult;
use super::row::{Parameter, all, bigint, change, first, job_id, json, micros, number, status, value};
use super::session::PgSession;
use super::{attempt_notes, jobs, renders};
use crate::workers::{Discarding, ENDED_BY_DISCARDED, GONE, MAX_QUARANTINE_REASON_BYTES, QUARANTINE};
use crate::{JobFailure, Work, WorkerName, WorkerRemoval};

/// Locks jobs, then the accounts that their ends would change, in the order of all transactions.
async fn lock_jobs(db: &PgSession, jobs: &[Uuid]) -> PgResult<()> {
    let sql = "SELECT job_id FROM jobs WHERE job_id = ANY($1) ORDER BY job_id FOR NO KEY UPDATE";
    all(db, sql, &[&jobs], |_| Ok(())).await?;
    let sql = "SELECT account FROM account_use WHERE account IN (SELECT account FROM jobs WHERE job_id = ANY($1))
               ORDER BY account FOR NO KEY UPDATE";
    all(db, sql, &[&jobs], |_| Ok(())).await.map(drop)
}

/// Queues the shards and renderings of a worker again; its leases are void.
pub(super) async fn requeue(db: &PgSession, worker: &WorkerName) -> PgResult<Vec<Work>> {
    let holder = worker.lease_holder();
    let sql = "SELECT job_id, shard FROM shards WHERE state = 'LEASED' AND worker = $1 ORDER BY job_id, shard";
    let held = all(db, sql, &[&holder], place).await?;
    let ids: Vec<Uuid> = held.iter().map(|(job, _)| job.0).collect();
    lock_jobs(db, &ids).await?;
    let mut requeued = Vec::with_capacity(held.len());
    for (job_id, shard) in held {
        // It may have ended, or have been taken, before the job was locked.
        let sql = "SELECT job_id FROM shards WHERE job_id = $1 AND shard = $2 AND state = 'LEASED' AND worker = $3
                   FOR NO KEY UPDATE";
        let number = i64::from(shard);
        if first(db, sql, &[&job_id.0, &number, &holder], |_| Ok(())).await?.is_some() {
            attempt_notes::lease_expired(db, job_id, shard).await?;
            let sql = "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL
                       WHERE job_id = $1 AND shard = $2";
            change(db, sql, &[&job_id.0, &number]).await?;
            requeued.push(Work::Shard { job_id, shard });
        }
    }
    renders::requeue(db, worker).await?;
    Ok(requeued)
}

fn place(row: &Row) -> PgResult<(JobId, u32)> {
    Ok((job_id(row, "job_id")?, number(row, "shard")?))
}

pub(super) async fn revoke(db: PgSession, worker: &WorkerName, now: Timestamp) -> PgResult<Option<WorkerRemoval>> {
    let sql = "SELECT name FROM workers WHERE name = $1 FOR NO KEY UPDATE";
    if first(&db, sql, &[&worker.as_str()], |_| Ok(())).await?.is_none() {
        return Ok(None);
    }
    let sql =
        "UPDATE workers SET state = 'REVOKED', state_since = $2 WHERE name = $1 AND state IN ('ACTIVE', 'DRAINING')";
    change(&db, sql, &[&worker.as_str(), &micros(now)]).await?;
    Ok(Some(WorkerRemoval { requeued: requeue(&db, worker).await?, ..WorkerRemoval::default() }))
}

pub(super) async fn quarantine(
    db: PgSession,
    worker: &WorkerName,
    reason: &str,
    now: Timestamp,
) -> PgResult<Option<WorkerRemoval>> {
    let sql = "UPDATE workers SET state = 'QUARANTINED', reason = $2, state_since = $3
               WHERE name = $1 AND state <> 'QUARANTINED'";
    let values: [Parameter<'_>; 3] = [&worker.as_str(), &sanitise(reason, MAX_QUARANTINE_REASON_BYTES), &micros(now)];
    if change(&db, sql, &values).await? == 0 {
        return Ok(None);
    }
    // All jobs of the worker at once, so that they are locked in order.
    let sql = "SELECT job_id FROM episodes WHERE worker = $1
               UNION SELECT job_id FROM shards WHERE state = 'LEASED' AND worker = $1 ORDER BY job_id";
    let ids = all(&db, sql, &[&worker.lease_holder()], |row| Ok(job_id(row, "job_id")?.0)).await?;
    lock_jobs(&db, &ids).await?;
    let mut removal = WorkerRemoval { requeued: requeue(&db, worker).await?, ..WorkerRemoval::default() };
    let sql = "SELECT episodes.job_id, episode, jobs.status FROM episodes JOIN jobs USING (job_id)
               WHERE episodes.worker = $1 ORDER BY episodes.job_id, episode";
    let ran = all(&db, sql, &[&worker.lease_holder()], |row| {
        Ok(((job_id(row, "job_id")?, number(row, "episode")?), status(row)?))
    })
    .await?;
    for (episode, status) in ran {
        if status == JobStatus::Running {
            removal.requeued.extend(discard(&db, episode, QUARANTINE, now).await?);
            removal.discarded.push(episode);
        } else {
            removal.concluded.push(episode);
        }
    }
    Ok(Some(removal))
}

/// The unfinished jobs that are pinned to none of the machines $1, and those that are pinned although no worker runs
/// them or has run any of their episodes: the workers that claimed them gave them back.
const ABSENT: &str = "FROM jobs WHERE status IN ('QUEUED', 'RUNNING') AND machine IS NOT NULL AND (machine <> ALL($1)
    OR NOT EXISTS (SELECT 1 FROM shards WHERE shards.job_id = jobs.job_id AND state = 'LEASED')
       AND NOT EXISTS (SELECT 1 FROM episodes WHERE episodes.job_id = jobs.job_id))";

/// Returns true if there are unfinished jobs that are pinned to none of `machines`.
pub(super) async fn has_absent(db: PgSession, machines: &[String]) -> PgResult<bool> {
    value(&db, &format!("SELECT EXISTS (SELECT 1 {ABSENT})"), &[&machines]).await
}

/// Discards the results of unfinished jobs that are pinned to none of `machines`.
pub(super) async fn unpin(db: PgSession, machines: &[String], now: Timestamp) -> PgResult<Vec<Work>> {
    let read = |row: &Row| Ok(job_id(row, "job_id")?.0);
    let ids = all(&db, &format!("SELECT job_id {ABSENT} ORDER BY job_id"), &[&machines], read).await?;
    lock_jobs(&db, &ids).await?;
    let sql = format!("SELECT job_id {ABSENT} AND job_id = ANY($2) ORDER BY job_id");
    let mut requeued = Vec::new();
    for job in all(&db, &sql, &[&machines, &ids], |row| job_id(row, "job_id")).await? {
        let sql = "UPDATE jobs SET machine = NULL, machine_fingerprint = NULL WHERE job_id = $1";
        change(&db, sql, &[&job.0]).await?;
        let sql = "SELECT job_id, episode FROM episodes WHERE job_id = $1 ORDER BY episode";
        let episodes = all(&db, sql, &[&job.0], |row| number::<u32>(row, "episode")).await?;
        if !episodes.is_empty() {
            tracing::warn!(job.id = %job, "the machine that ran the job's episodes is gone: they run again");
        }
        for episode in episodes {
            requeued.extend(discard(&db, (job, episode), GONE, now).await?);
        }
    }
    Ok(requeued)
}

/// Removes the result of an episode of a running job, whose row is locked, and queues its shard again.
async fn discard(
    db: &PgSession,
    (job, episode): (JobId, u32),
    (reason, evidence): Discarding,
    now: Timestamp,
) -> PgResult<Option<Work>> {
    let sql = "SELECT episodes.job_id, shard, result, header FROM episodes JOIN jobs USING (job_id)
               WHERE job_id = $1 AND episode = $2";
    let key: [Parameter<'_>; 2] = [&job.0, &i64::from(episode)];
    let found = first(db, sql, &key, |row| {
        Ok((number::<u32>(row, "shard")?, json::<EpisodeResult>(row, "result")?, json::<JobHeader>(row, "header")?))
    })
    .await?;
    let Some((shard, result, header)) = found else { return Ok(None) };
    if header.plan.ends_with(&result) {
        // The shards after it were abandoned.
        let failure = JobFailure { blame: Blame::Platform, message: ENDED_BY_DISCARDED.to_owned() };
        jobs::fail(db, job, &failure, now).await?;
        return Ok(None);
    }
    change(db, "DELETE FROM episodes WHERE job_id = $1 AND episode = $2", &key).await?;
    change(db, "DELETE FROM renders WHERE job_id = $1 AND episode = $2", &key).await?;
    attempt_notes::insert(db, job, &AttemptNote::Replaced(ReplacedAttempt::new(episode, reason, evidence))).await?;
    // A shard that another worker holds meanwhile is queued again when its lease ends.
    let sql = "UPDATE shards SET state = 'QUEUED' WHERE job_id = $1 AND shard = $2 AND state = 'DONE'";
    let is_requeued = change(db, sql, &[&job.0, &i64::from(shard)]).await? == 1;
    let stored: u64 = result.evidence.iter().map(|artifact| artifact.size_bytes).sum();
    let sql =
        "UPDATE jobs SET evidence_bytes = evidence_bytes - $2, episodes_done = episodes_done - 1 WHERE job_id = $1";
    change(db, sql, &[&job.0, &bigint(stored)]).await?;
    Ok(is_requeued.then_some(Work::Shard { job_id: job, shard }))
}
