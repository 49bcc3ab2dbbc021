//! Results of episodes, recorded under the fence of the shard that they belong to.

use assay_model::{EpisodeResult, JobEvent, JobStatus};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};

use super::failure::SqlResult;
use super::queue_snapshot::measure;
use super::row::{change, expect_one, first, json, micros, to_json, value};
use super::{attempt_notes, renders};
use crate::{Fence, RecordOutcome, StoreError};

pub(super) fn record(
    db: &Connection,
    fence: Fence,
    result: &EpisodeResult,
    now: Timestamp,
) -> SqlResult<RecordOutcome> {
    let id = fence.job_id.to_string();
    let mine = "SELECT first_episode, end_episode, state, attempt FROM shards WHERE job_id = ?1 AND shard = ?2";
    let row = |row: &Row<'_>| {
        let range: std::ops::Range<u32> = row.get(0)?..row.get(1)?;
        Ok((range, row.get::<_, String>(2)?, row.get::<_, u32>(3)?))
    };
    let Some((range, state, attempt)) = first(db, mine, (&id, fence.shard), row)? else {
        return Ok(RecordOutcome::Fenced);
    };
    if !range.contains(&result.episode) {
        if is_past_the_end(db, &id, result.episode)? {
            return Ok(RecordOutcome::Fenced);
        }
        let text = format!("episode {} is not in shard {} ({range:?}) of {id}", result.episode, fence.shard);
        return Err(StoreError::Invalid(text).into());
    }
    // The worker that wrote the result may repeat it, because the answer was lost, and continue. Another worker must
    // stop.
    let writer = "SELECT attempt FROM episodes WHERE job_id = ?1 AND episode = ?2";
    let written_by: Option<u32> =
        db.prepare_cached(writer)?.query_row((&id, result.episode), |row| row.get(0)).optional()?;
    if attempt != fence.attempt || (state != "LEASED" && written_by.is_none()) {
        return Ok(RecordOutcome::Fenced);
    }
    if written_by.is_some() {
        return Ok(RecordOutcome::Duplicate);
    }
    insert(db, &id, fence, result, now)?;
    attempt_notes::forget(db, &id, result.episode)?;
    renders::expect(db, &id, result)?;
    measure(db, fence, now)?;
    let range = end_plan(db, &id, result)?.map_or(range.clone(), |end| range.start..end);
    let left_in_job = count_episode(db, &id)?;
    let left_in_shard = left_in_shard(db, &id, fence, &range)?;
    Ok(RecordOutcome::New { left_in_shard, left_in_job })
}

fn insert(db: &Connection, id: &str, fence: Fence, result: &EpisodeResult, now: Timestamp) -> SqlResult<()> {
    let status = serde_json::to_value(result.status).ok().and_then(|v| v.as_str().map(str::to_owned));
    let sql = "INSERT INTO episodes (job_id, episode, shard, attempt, status, recorded_at, result, worker)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,
                       (SELECT worker FROM shards WHERE job_id = ?1 AND shard = ?3 AND worker GLOB 'host/*'))";
    let values = (id, result.episode, fence.shard, fence.attempt, status, micros(now), to_json(result)?);
    expect_one(change(db, sql, values)?, "one result")?;
    let stored: u64 = result.evidence.iter().map(|artifact| artifact.size_bytes).sum();
    let sql = "UPDATE jobs SET evidence_bytes = evidence_bytes + ?2 WHERE job_id = ?1";
    change(db, sql, (id, i64::try_from(stored).unwrap_or(i64::MAX)))?;
    let sql = "UPDATE shards SET failures = 0, lapses = 0
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3";
    expect_one(change(db, sql, (id, fence.shard, fence.attempt))?, "the leased shard")
}

/// Ends a certification at its first failure: later episodes are not run, or are ignored. Returns one past the last
/// episode if this result is that failure.
fn end_plan(db: &Connection, id: &str, result: &EpisodeResult) -> SqlResult<Option<u32>> {
    let header = first(db, "SELECT job_id, header FROM jobs WHERE job_id = ?1", [id], |row| {
        json::<assay_model::JobHeader>(row, "header")
    })?;
    if !header.is_some_and(|header| header.plan.ends_with(result)) {
        return Ok(None);
    }
    let end = result.episode + 1;
    change(db, "DELETE FROM episodes WHERE job_id = ?1 AND episode >= ?2", (id, end))?;
    renders::cut(db, id, end)?;
    let sql = "UPDATE shards SET state = 'ABANDONED', worker = NULL, lease_until = NULL
               WHERE job_id = ?1 AND first_episode >= ?2 AND state IN ('QUEUED', 'LEASED')";
    change(db, sql, (id, end))?;
    let sql = "UPDATE shards SET end_episode = ?2 WHERE job_id = ?1 AND first_episode < ?2 AND end_episode > ?2";
    change(db, sql, (id, end))?;
    // The caller counts the result itself.
    let sql = "UPDATE jobs SET num_episodes = ?2,
                      episodes_done = (SELECT count(*) FROM episodes WHERE job_id = ?1 AND episode <> ?3)
               WHERE job_id = ?1 AND status = 'RUNNING'";
    expect_one(change(db, sql, (id, end, result.episode))?, "the running job")?;
    Ok(Some(end))
}

/// Returns true if the end of the job was moved before this episode after the shard was claimed.
fn is_past_the_end(db: &Connection, id: &str, episode: u32) -> SqlResult<bool> {
    let sql = "SELECT job_id, header, num_episodes FROM jobs WHERE job_id = ?1";
    let planned = first(db, sql, [id], |row| {
        Ok((json::<assay_model::JobHeader>(row, "header")?.plan.episodes, row.get::<_, u32>("num_episodes")?))
    })?;
    Ok(planned.is_some_and(|(planned, now)| (now..planned).contains(&episode)))
}

/// Counts a new result; the last one moves the job to JUDGING. Returns the number of episodes that the job still lacks.
fn count_episode(db: &Connection, id: &str) -> SqlResult<u32> {
    let sql = "UPDATE jobs SET episodes_done = episodes_done + 1 WHERE job_id = ?1 AND status = 'RUNNING'";
    expect_one(change(db, sql, [id])?, "the running job")?;
    let left = value(db, "SELECT num_episodes - episodes_done FROM jobs WHERE job_id = ?1", [id])?;
    if left == 0 {
        let from = JobStatus::Running;
        let to = from.after(JobEvent::EpisodesDone).map_err(|e| StoreError::corrupt(id, "status", e))?;
        let sql = "UPDATE jobs SET status = ?3 WHERE job_id = ?1 AND status = ?2 AND episodes_done = num_episodes";
        expect_one(change(db, sql, (id, from.as_str(), to.as_str()))?, "the running job")?;
    }
    Ok(left)
}

fn left_in_shard(db: &Connection, id: &str, fence: Fence, range: &std::ops::Range<u32>) -> SqlResult<u32> {
    let sql = "SELECT count(*) FROM episodes WHERE job_id = ?1 AND episode >= ?2 AND episode < ?3";
    let done: u32 = value(db, sql, (id, range.start, range.end))?;
    let left = (range.end - range.start).saturating_sub(done);
    if left == 0 {
        let sql = "UPDATE shards SET state = 'DONE', worker = NULL, lease_until = NULL
                   WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3";
        expect_one(change(db, sql, (id, fence.shard, fence.attempt))?, "the leased shard")?;
    }
    Ok(left)
}
