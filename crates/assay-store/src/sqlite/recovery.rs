//! Requeues work with expired leases, and lists claimable work.

use assay_model::{Blame, JobId};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, Row};

use super::failure::SqlResult;
use super::row::{all, change, first, micros, parsed, time_or_null, until};
use super::{SqliteRecords, attempt_notes, jobs, renders};
use crate::{JobFailure, MAX_LAPSES, ReconcileSummary, RecoveryRecords, StoreError, Work};

#[async_trait]
impl RecoveryRecords for SqliteRecords {
    async fn reconcile(&self, now: Timestamp) -> Result<ReconcileSummary, StoreError> {
        self.write("reconciling", move |db| reconcile(db, now)).await
    }

    async fn claimable(&self, limit: u32) -> Result<Vec<Work>, StoreError> {
        self.read("looking for work", |db| claimable(db, limit))
    }
}

pub(super) fn reconcile(db: &Connection, now: Timestamp) -> SqlResult<ReconcileSummary> {
    let mut done = ReconcileSummary::default();
    let sql = "SELECT job_id, shard, lapses FROM shards WHERE state = 'LEASED' AND lease_until <= ?1";
    let late = all(db, sql, [micros(now)], |row| Ok((shard(row)?, row.get::<_, u32>("lapses")?)))?;
    for (work, lapses) in late {
        if requeue_shard(db, work)? {
            settle(db, work, lapses, now, &mut done)?;
        }
    }
    let sql = "SELECT job_id, judge_lapses FROM jobs
               WHERE status = 'JUDGING' AND judge_worker IS NOT NULL AND judge_lease_until <= ?1";
    let late = all(db, sql, [micros(now)], |row| Ok((conclusion(row)?, row.get::<_, u32>("judge_lapses")?)))?;
    for (work, lapses) in late {
        if requeue_conclusion(db, work)? {
            settle(db, work, lapses, now, &mut done)?;
        }
    }
    renders::reconcile(db, now)?;
    let sql = "SELECT min(until) AS next FROM (
                   SELECT min(lease_until) AS until FROM shards WHERE state = 'LEASED'
                   UNION ALL
                   SELECT min(judge_lease_until) FROM jobs WHERE status = 'JUDGING' AND judge_worker IS NOT NULL
                   UNION ALL
                   SELECT min(lease_until) FROM renders WHERE state = 'LEASED')";
    done.next_expiry = first(db, sql, [], |row| time_or_null(row, "next"))?.flatten();
    Ok(done)
}

fn settle(db: &Connection, work: Work, lapses: u32, now: Timestamp, done: &mut ReconcileSummary) -> SqlResult<()> {
    let (Work::Shard { job_id, .. } | Work::Conclusion { job_id }) = work;
    if lapses < MAX_LAPSES {
        done.requeued.push(work);
        return Ok(());
    }
    let message = format!("the workers of this job disappeared {} times in a row", lapses + 1);
    if jobs::fail(db, job_id, &JobFailure { blame: Blame::Platform, message }, now)? {
        done.requeued.retain(|other| !matches!(other, Work::Shard { job_id: id, .. } if *id == job_id));
        done.failed.push(job_id);
    }
    Ok(())
}

/// Requeues a shard. Returns false if an earlier shard has just failed the job.
fn requeue_shard(db: &Connection, work: Work) -> SqlResult<bool> {
    let Work::Shard { job_id, shard } = work else { return Ok(false) };
    attempt_notes::lease_expired(db, job_id, shard)?;
    let sql = "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL, lapses = lapses + 1
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED'";
    Ok(change(db, sql, (job_id.to_string(), shard))? == 1)
}

fn requeue_conclusion(db: &Connection, work: Work) -> SqlResult<bool> {
    let Work::Conclusion { job_id } = work else { return Ok(false) };
    let sql = "UPDATE jobs SET judge_worker = NULL, judge_lease_until = NULL, judge_lapses = judge_lapses + 1
               WHERE job_id = ?1 AND status = 'JUDGING' AND judge_worker IS NOT NULL";
    Ok(change(db, sql, [job_id.to_string()])? == 1)
}

/// Expires the leases of this machine's workers: the caller holds the data folder, so they are dead. Workers on other
/// hosts live on, and may renew theirs within `grace` from `now`.
pub(super) fn expire_all(db: &Connection, now: Timestamp, grace: SignedDuration) -> SqlResult<()> {
    change(db, "UPDATE shards SET lease_until = 0 WHERE state = 'LEASED' AND worker NOT GLOB 'host/*'", [])?;
    let sql = "UPDATE shards SET lease_until = max(lease_until, ?1) WHERE state = 'LEASED' AND worker GLOB 'host/*'";
    change(db, sql, [until(now, grace)])?;
    let sql = "UPDATE jobs SET judge_lease_until = 0 WHERE status = 'JUDGING' AND judge_worker IS NOT NULL";
    change(db, sql, [])?;
    renders::expire_all(db)
}

pub(super) fn claimable(db: &Connection, limit: u32) -> SqlResult<Vec<Work>> {
    let sql = "SELECT job_id FROM jobs WHERE status = 'JUDGING' AND judge_worker IS NULL ORDER BY job_id LIMIT ?1";
    let mut work = all(db, sql, [limit], conclusion)?;
    let left = limit.saturating_sub(u32::try_from(work.len()).unwrap_or(u32::MAX));
    let sql = "SELECT job_id, shard FROM shards WHERE state = 'QUEUED' ORDER BY job_id, shard LIMIT ?1";
    work.extend(all(db, sql, [left], shard)?);
    Ok(work)
}

fn shard(row: &Row<'_>) -> SqlResult<Work> {
    Ok(Work::Shard { job_id: parsed::<JobId>(row, "job_id")?, shard: row.get("shard")? })
}

fn conclusion(row: &Row<'_>) -> SqlResult<Work> {
    Ok(Work::Conclusion { job_id: parsed::<JobId>(row, "job_id")? })
}
