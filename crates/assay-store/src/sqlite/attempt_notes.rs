//! The table of attempt notes: facts that outlive an attempt at an episode.

use assay_model::{AttemptNote, JobId, ReplacedAttempt, ReplacementReason};
use rusqlite::Connection;

use super::failure::SqlResult;
use super::row::{all, change, first, json, to_json, value};
use crate::{Fence, Lease, MAX_ATTEMPT_NOTES};

/// Adds a note if the worker holds the shard.
pub(super) fn add(db: &Connection, fence: Fence, note: &AttemptNote) -> SqlResult<Lease> {
    let id = fence.job_id.to_string();
    let sql = "SELECT count(*) FROM shards
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3
                     AND first_episode <= ?4 AND end_episode > ?4";
    let held: u32 = value(db, sql, (&id, fence.shard, fence.attempt, note.episode()))?;
    if held == 0 {
        return Ok(Lease::Lost);
    }
    insert(db, &id, note)?;
    Ok(Lease::Held)
}

/// Notes that the lease of a shard expired while its first episode without a result was running, or may have been.
pub(super) fn lease_expired(db: &Connection, job: JobId, shard: u32) -> SqlResult<()> {
    let id = job.to_string();
    let sql = "SELECT s.job_id, s.worker, s.attempt, s.first_episode, s.end_episode FROM shards AS s
               WHERE s.job_id = ?1 AND s.shard = ?2 AND s.state = 'LEASED'";
    let found = first(db, sql, (&id, shard), |row| {
        Ok((
            row.get::<_, String>("worker")?,
            row.get::<_, u32>("attempt")?,
            row.get::<_, u32>(3)?,
            row.get::<_, u32>(4)?,
        ))
    })?;
    let Some((worker, attempt, start, end)) = found else { return Ok(()) };
    let sql = "SELECT episode FROM episodes WHERE job_id = ?1 AND episode >= ?2 AND episode < ?3";
    let done: Vec<u32> = all(db, sql, (&id, start, end), |row| Ok(row.get(0)?))?;
    let Some(episode) = (start..end).find(|episode| !done.contains(episode)) else { return Ok(()) };
    let evidence = format!("the lease of {worker} (claim {attempt} of the shard) ran out");
    insert(db, &id, &AttemptNote::Replaced(ReplacedAttempt::new(episode, ReplacementReason::LeaseExpired, &evidence)))
}

/// Lists the notes of a job's episodes from `start` up to `end`, in order of insertion.
pub(super) fn of(db: &Connection, job: JobId, start: u32, end: u32) -> SqlResult<Vec<AttemptNote>> {
    let sql = "SELECT job_id, note FROM attempt_notes WHERE job_id = ?1 AND episode >= ?2 AND episode < ?3
               ORDER BY episode, number";
    all(db, sql, (job.to_string(), start, end), |row| json(row, "note"))
}

/// Removes the notes of an episode that has its result, which includes them.
pub(super) fn forget(db: &Connection, id: &str, episode: u32) -> SqlResult<()> {
    change(db, "DELETE FROM attempt_notes WHERE job_id = ?1 AND episode = ?2", (id, episode)).map(drop)
}

pub(super) fn insert(db: &Connection, id: &str, note: &AttemptNote) -> SqlResult<()> {
    let sql = "SELECT coalesce(max(number), 0) FROM attempt_notes WHERE job_id = ?1 AND episode = ?2";
    let last: u32 = value(db, sql, (id, note.episode()))?;
    // Violations are always kept: there is at most one per clause and attempt, and attempts are bounded.
    if last >= MAX_ATTEMPT_NOTES && matches!(note, AttemptNote::Replaced(_)) {
        return Ok(());
    }
    let sql = "INSERT INTO attempt_notes (job_id, episode, number, note) VALUES (?1, ?2, ?3, ?4)";
    change(db, sql, (id, note.episode(), last + 1, to_json(note)?)).map(drop)
}
