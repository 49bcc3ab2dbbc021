//! Takes a worker on another host out of service: its leases are void, and after a quarantine its results of unfinished
//! jobs are discarded.

use assay_model::{AttemptNote, Blame, EpisodeResult, JobId, ReplacedAttempt, sanitise};
use jiff::Timestamp;
use rusqlite::Connection;

use super::failure::SqlResult;
use super::row::{all, change, field, first, json, micros, parsed, value};
use super::{attempt_notes, jobs, renders};
use crate::workers::{Discarding, ENDED_BY_DISCARDED, GONE, MAX_QUARANTINE_REASON_BYTES, QUARANTINE};
use crate::{JobFailure, Work, WorkerName, WorkerRemoval};

/// Condition for shards of jobs that are pinned to none of the machines ?1, a JSON list of digests.
pub(super) const ABSENT: &str = "state IN ('QUEUED', 'LEASED') AND machine IS NOT NULL
                                 AND machine NOT IN (SELECT value FROM json_each(?1))";
/// Condition for shards of jobs that are pinned although no worker runs them or has run any of their episodes: the
/// workers that claimed them gave them back.
pub(super) const UNTOUCHED: &str =
    "state = 'QUEUED' AND machine IS NOT NULL AND job_id NOT IN (SELECT job_id FROM shards WHERE state = 'LEASED')
     AND NOT EXISTS (SELECT 1 FROM episodes WHERE episodes.job_id = shards.job_id)";

/// Queues the shards and renderings of a worker again; its leases are void.
pub(super) fn requeue(db: &Connection, worker: &WorkerName) -> SqlResult<Vec<Work>> {
    let sql = "SELECT job_id, shard FROM shards WHERE state = 'LEASED' AND worker = ?1";
    let held: Vec<(JobId, u32)> =
        all(db, sql, [worker.lease_holder()], |row| Ok((parsed(row, "job_id")?, field(row, "shard")?)))?;
    for (job, shard) in &held {
        attempt_notes::lease_expired(db, *job, *shard)?;
        let sql = "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL
                   WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED'";
        change(db, sql, (job.to_string(), shard))?;
    }
    renders::requeue(db, worker)?;
    Ok(held.into_iter().map(|(job_id, shard)| Work::Shard { job_id, shard }).collect())
}

pub(super) fn revoke(db: &Connection, worker: &WorkerName, now: Timestamp) -> SqlResult<Option<WorkerRemoval>> {
    let known: bool = value(db, "SELECT EXISTS (SELECT 1 FROM workers WHERE name = ?1)", [worker.as_str()])?;
    if !known {
        return Ok(None);
    }
    let sql =
        "UPDATE workers SET state = 'REVOKED', state_since = ?2 WHERE name = ?1 AND state IN ('ACTIVE', 'DRAINING')";
    change(db, sql, (worker.as_str(), micros(now)))?;
    Ok(Some(WorkerRemoval { requeued: requeue(db, worker)?, ..WorkerRemoval::default() }))
}

pub(super) fn quarantine(
    db: &Connection,
    worker: &WorkerName,
    reason: &str,
    now: Timestamp,
) -> SqlResult<Option<WorkerRemoval>> {
    let sql = "UPDATE workers SET state = 'QUARANTINED', reason = ?2, state_since = ?3
               WHERE name = ?1 AND state <> 'QUARANTINED'";
    if change(db, sql, (worker.as_str(), sanitise(reason, MAX_QUARANTINE_REASON_BYTES), micros(now)))? == 0 {
        return Ok(None);
    }
    let mut removal = WorkerRemoval { requeued: requeue(db, worker)?, ..WorkerRemoval::default() };
    let sql =
        "SELECT e.job_id, e.episode, j.status = 'RUNNING' AS running FROM episodes AS e JOIN jobs AS j USING (job_id)
               WHERE e.worker = ?1 ORDER BY e.job_id, e.episode";
    let ran: Vec<((JobId, u32), bool)> = all(db, sql, [worker.lease_holder()], |row| {
        Ok(((parsed(row, "job_id")?, field(row, "episode")?), field(row, "running")?))
    })?;
    for (episode, is_running) in ran {
        if is_running {
            removal.requeued.extend(discard(db, episode, QUARANTINE, now)?);
            removal.discarded.push(episode);
        } else {
            removal.concluded.push(episode);
        }
    }
    Ok(Some(removal))
}

/// Discards the results of unfinished jobs that are pinned to none of `machines`, a JSON list of digests.
pub(super) fn unpin(db: &Connection, machines: &str, now: Timestamp) -> SqlResult<Vec<Work>> {
    change(db, &format!("UPDATE shards SET machine = NULL WHERE {UNTOUCHED}"), [])?;
    let sql = format!("SELECT DISTINCT job_id FROM shards WHERE {ABSENT}");
    let mut requeued = Vec::new();
    for job in all(db, &sql, [machines], |row| parsed::<JobId>(row, "job_id"))? {
        let id = job.to_string();
        change(db, "UPDATE shards SET machine = NULL WHERE job_id = ?1", [&id])?;
        let sql = "SELECT job_id, episode FROM episodes WHERE job_id = ?1 ORDER BY episode";
        for episode in all(db, sql, [&id], |row| field::<u32>(row, "episode"))? {
            requeued.extend(discard(db, (job, episode), GONE, now)?);
        }
        tracing::warn!(job.id = %job, "the machine that ran the job's episodes is gone: they run again");
    }
    Ok(requeued)
}

/// Removes the result of an episode of a running job, and queues its shard again.
fn discard(
    db: &Connection,
    (job, episode): (JobId, u32),
    (reason, evidence): Discarding,
    now: Timestamp,
) -> SqlResult<Option<Work>> {
    let id = job.to_string();
    let sql = "SELECT job_id, shard, result FROM episodes WHERE job_id = ?1 AND episode = ?2";
    let found =
        first(db, sql, (&id, episode), |row| Ok((field::<u32>(row, "shard")?, json::<EpisodeResult>(row, "result")?)))?;
    let Some((shard, result)) = found else { return Ok(None) };
    let sql = "SELECT job_id, header FROM jobs WHERE job_id = ?1";
    let header = first(db, sql, [&id], |row| json::<assay_model::JobHeader>(row, "header"))?;
    if header.is_some_and(|header| header.plan.ends_with(&result)) {
        // The shards after it were abandoned.
        jobs::fail(db, job, &JobFailure { blame: Blame::Platform, message: ENDED_BY_DISCARDED.to_owned() }, now)?;
        return Ok(None);
    }
    change(db, "DELETE FROM episodes WHERE job_id = ?1 AND episode = ?2", (&id, episode))?;
    change(db, "DELETE FROM renders WHERE job_id = ?1 AND episode = ?2", (&id, episode))?;
    let stored: u64 = result.evidence.iter().map(|artifact| artifact.size_bytes).sum();
    let sql =
        "UPDATE jobs SET evidence_bytes = evidence_bytes - ?2, episodes_done = episodes_done - 1 WHERE job_id = ?1";
    change(db, sql, (&id, i64::try_from(stored).unwrap_or(i64::MAX)))?;
    let replaced = ReplacedAttempt::new(episode, reason, evidence);
    attempt_notes::insert(db, &id, &AttemptNote::Replaced(replaced))?;
    // A shard that another worker holds meanwhile is queued again when its lease ends.
    let sql = "UPDATE shards SET state = 'QUEUED' WHERE job_id = ?1 AND shard = ?2 AND state = 'DONE'";
    let requeued = change(db, sql, (&id, shard))? == 1;
    Ok(requeued.then_some(Work::Shard { job_id: job, shard }))
}
