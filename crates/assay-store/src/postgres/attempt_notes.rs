//! The table of attempt notes: facts that outlive an attempt at an episode.

use std::ops::Range;

use assay_model::{AttemptNote, JobId, ReplacedAttempt, ReplacementReason};

use super::failure::PgResult;
use super::row::{all, change, first, json, number, text, to_json, value};
use super::session::PgSession;
use crate::{Fence, Lease, MAX_ATTEMPT_NOTES};

/// Adds a note if the worker holds the shard.
pub(super) async fn add(db: PgSession, fence: Fence, note: &AttemptNote) -> PgResult<Lease> {
    // The lock keeps the shard from being taken away, and the notes of an episode in order.
    let sql = "SELECT job_id FROM shards
               WHERE job_id = $1 AND shard = $2 AND state = 'LEASED' AND attempt = $3
                     AND first_episode <= $4 AND end_episode > $4 FOR NO KEY UPDATE";
    let (shard, attempt, episode) = (i64::from(fence.shard), i64::from(fence.attempt), i64::from(note.episode()));
    if first(&db, sql, &[&fence.job_id.0, &shard, &attempt, &episode], |_| Ok(())).await?.is_none() {
        return Ok(Lease::Lost);
    }
    insert(&db, fence.job_id, note).await?;
    Ok(Lease::Held)
}

/// Notes that the lease of a shard, whose row is locked, expired while its first episode without a result was
/// running, or may have been.
pub(super) async fn lease_expired(db: &PgSession, job: JobId, shard: u32) -> PgResult<()> {
    let sql = "SELECT job_id, worker, attempt, first_episode, end_episode FROM shards
               WHERE job_id = $1 AND shard = $2 AND state = 'LEASED'";
    let found = first(db, sql, &[&job.0, &i64::from(shard)], |row| {
        let range: Range<u32> = number(row, "first_episode")?..number(row, "end_episode")?;
        Ok((text(row, "worker")?.to_owned(), number::<u32>(row, "attempt")?, range))
    })
    .await;
    let Some((worker, attempt, mut range)) = found? else { return Ok(()) };
    let sql = "SELECT job_id, episode FROM episodes WHERE job_id = $1 AND episode >= $2 AND episode < $3";
    let (start, end) = (i64::from(range.start), i64::from(range.end));
    let done: Vec<u32> = all(db, sql, &[&job.0, &start, &end], |row| number(row, "episode")).await?;
    let Some(episode) = range.find(|episode| !done.contains(episode)) else { return Ok(()) };
    let evidence = format!("the lease of {worker} (claim {attempt} of the shard) ran out");
    let replaced = ReplacedAttempt::new(episode, ReplacementReason::LeaseExpired, &evidence);
    insert(db, job, &AttemptNote::Replaced(replaced)).await
}

/// Lists the notes of a job's episodes in `range`, in order of insertion.
pub(super) async fn of(db: &PgSession, job: JobId, range: Range<u32>) -> PgResult<Vec<AttemptNote>> {
    let sql = "SELECT job_id, note FROM attempt_notes WHERE job_id = $1 AND episode >= $2 AND episode < $3
               ORDER BY episode, number";
    let (start, end) = (i64::from(range.start), i64::from(range.end));
    all(db, sql, &[&job.0, &start, &end], |row| json(row, "note")).await
}

pub(super) async fn insert(db: &PgSession, job: JobId, note: &AttemptNote) -> PgResult<()> {
    let episode = i64::from(note.episode());
    let sql = "SELECT coalesce(max(number), 0) FROM attempt_notes WHERE job_id = $1 AND episode = $2";
    let last: i64 = value(db, sql, &[&job.0, &episode]).await?;
    // Violations are always kept: there is at most one per clause and attempt, and attempts are bounded.
    if last >= i64::from(MAX_ATTEMPT_NOTES) && matches!(note, AttemptNote::Replaced(_)) {
        return Ok(());
    }
    let sql = "INSERT INTO attempt_notes (job_id, episode, number, note) VALUES ($1, $2, $3, $4)";
    change(db, sql, &[&job.0, &episode, &(last + 1), &to_json(note)?]).await.map(drop)
}
