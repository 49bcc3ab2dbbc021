//! The table of shards, and the results written against them.

use assay_model::{AccountId, AttemptNote, Blame, EpisodeResult, JobEvent, JobId, JobStatus, SHOWCASE_EPISODES};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use super::failure::SqlResult;
use super::queue_snapshot::measure;
use super::row::{all, change, expect_one, first, json, micros, parsed, status, to_json, until, value};
use super::{SqliteRecords, attempt_notes, jobs, renders};
use crate::{Claim, Fence, JobFailure, Lease, MAX_RETRIES, RecordOutcome, ReturnOutcome, ShardRecords, StoreError};

/// Maximum length of a reason stored with a shard, in bytes.
const MAX_REASON_BYTES: usize = 2048;

/// Selects the oldest shard of the account that holds the fewest shards of that kind and, among several such accounts,
/// of the one whose last claim is longest ago, so that accounts take turns even on one lane. The recursion steps from
/// account to account through the index, so the length of the queue does not matter.
const NEXT: &str = "
    WITH RECURSIVE waiting (account) AS (
        SELECT min(account) FROM shards WHERE state = 'QUEUED' AND remote = ?1 AND not_before <= ?2
        UNION ALL
        SELECT (SELECT min(account) FROM shards
                WHERE state = 'QUEUED' AND remote = ?1 AND not_before <= ?2 AND account > waiting.account)
        FROM waiting WHERE waiting.account IS NOT NULL
    ), heads AS (
        SELECT account,
               (SELECT min(job_id) FROM shards
                WHERE state = 'QUEUED' AND remote = ?1 AND not_before <= ?2 AND account = waiting.account) AS job_id,
               (SELECT count(*) FROM shards
                WHERE state = 'LEASED' AND remote = ?1 AND account = waiting.account) AS held,
               (SELECT turn FROM account_use WHERE account = waiting.account) AS turn
        FROM waiting WHERE account IS NOT NULL AND account NOT IN (SELECT value FROM json_each(?3))
    )
    SELECT job_id, (SELECT min(shard) FROM shards
                    WHERE state = 'QUEUED' AND remote = ?1 AND not_before <= ?2 AND account = heads.account
                          AND job_id = heads.job_id) AS shard
    FROM heads ORDER BY held, turn, job_id LIMIT 1";

#[async_trait]
impl ShardRecords for SqliteRecords {
    async fn claim_shard(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError> {
        let worker = worker.to_owned();
        self.write("claiming a shard", move |db| claim(db, &worker, &ShardFilter::any(ShardKind::Any), now, lease))
            .await
    }

    async fn claim_shard_of_others(
        &self,
        worker: &str,
        accounts: &[AccountId],
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError> {
        let (worker, wanted) = (worker.to_owned(), ShardFilter::excluding(accounts));
        self.write("claiming a shard", move |db| claim(db, &worker, &wanted, now, lease)).await
    }

    async fn claim_secret_shard(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError> {
        let (worker, wanted) = (worker.to_owned(), ShardFilter::any(ShardKind::Secret));
        self.write("claiming a submission's shard", move |db| claim(db, &worker, &wanted, now, lease)).await
    }

    async fn claim_server_shard(
        &self,
        worker: &str,
        now: Timestamp,
        lease: SignedDuration,
    ) -> Result<Option<Claim>, StoreError> {
        let worker = worker.to_owned();
        let wanted = ShardFilter::any(ShardKind::Remote);
        self.write("claiming a policy server's shard", move |db| claim(db, &worker, &wanted, now, lease)).await
    }

    async fn heartbeat(&self, fence: Fence, now: Timestamp, lease: SignedDuration) -> Result<Lease, StoreError> {
        self.write_lease("renewing a lease", move |db| heartbeat(db, fence, now, lease)).await
    }

    async fn record_episode(
        &self,
        fence: Fence,
        result: EpisodeResult,
        now: Timestamp,
    ) -> Result<RecordOutcome, StoreError> {
        self.write("recording a result", move |db| record(db, fence, &result, now)).await
    }

    async fn note_attempt(&self, fence: Fence, note: AttemptNote) -> Result<Lease, StoreError> {
        self.write("noting an attempt", move |db| attempt_notes::add(db, fence, &note)).await
    }

    async fn postpone_shard(
        &self,
        fence: Fence,
        not_before: Timestamp,
        reason: &str,
    ) -> Result<ReturnOutcome, StoreError> {
        let reason = reason.to_owned();
        self.write("postponing a shard", move |db| postpone(db, fence, not_before, &reason)).await
    }

    async fn release_shard(&self, fence: Fence) -> Result<ReturnOutcome, StoreError> {
        self.write("releasing a shard", move |db| release(db, fence)).await
    }

    async fn fail_shard(&self, fence: Fence, reason: &str, now: Timestamp) -> Result<ReturnOutcome, StoreError> {
        let reason = reason.to_owned();
        self.write("failing a shard", move |db| give_up(db, fence, &reason, now)).await
    }
}

/// The kind of shards that a claim may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShardKind {
    /// Shards of any job whose policy runs here.
    Any,
    /// The next of those, only if its worlds are secret.
    Secret,
    /// Shards of jobs of policy servers.
    Remote,
}

/// Filter of the shards that a claim may take.
pub(super) struct ShardFilter {
    kind: ShardKind,
    /// Accounts whose shards are excluded, as a JSON list.
    excluded_accounts: String,
}

impl ShardFilter {
    /// Selects shards of any account.
    pub(super) fn any(kind: ShardKind) -> Self {
        Self { kind, excluded_accounts: "[]".to_owned() }
    }

    /// Selects shards of any job whose policy runs here, excluding these accounts.
    pub(super) fn excluding(accounts: &[AccountId]) -> Self {
        let accounts: Vec<&str> = accounts.iter().map(AccountId::as_str).collect();
        Self { kind: ShardKind::Any, excluded_accounts: serde_json::Value::from(accounts).to_string() }
    }
}

/// Claims a shard that matches the filter.
pub(super) fn claim(
    db: &Connection,
    worker: &str,
    wanted: &ShardFilter,
    now: Timestamp,
    lease: SignedDuration,
) -> SqlResult<Option<Claim>> {
    let kind = wanted.kind;
    let next = first(db, NEXT, (kind == ShardKind::Remote, micros(now), &wanted.excluded_accounts), |row| {
        Ok((parsed::<JobId>(row, "job_id")?, row.get::<_, u32>("shard")?))
    })?;
    let Some((job_id, shard)) = next else { return Ok(None) };
    let id = job_id.to_string();
    if kind == ShardKind::Secret && !is_secret(db, &id, shard)? {
        return Ok(None);
    }
    let sql = "UPDATE shards SET state = 'LEASED', attempt = attempt + 1, worker = ?3, lease_until = ?4, since = ?5
               WHERE job_id = ?1 AND shard = ?2 AND state = 'QUEUED'";
    expect_one(change(db, sql, (&id, shard, worker, until(now, lease), micros(now)))?, "a queued shard")?;
    let sql = "UPDATE account_use SET turn = (SELECT max(turn) FROM account_use) + 1
               WHERE account = (SELECT account FROM jobs WHERE job_id = ?1)";
    change(db, sql, [&id])?;

    let sql = "SELECT job_id, status FROM jobs WHERE job_id = ?1";
    let from = first(db, sql, [&id], status)?
        .ok_or_else(|| StoreError::Invalid(format!("job {id} of a shard does not exist")))?;
    let to = from.after(JobEvent::Started).map_err(|e| StoreError::corrupt(&id, "status", e))?;
    let sql = "UPDATE jobs SET status = ?3, started_at = coalesce(started_at, ?4) WHERE job_id = ?1 AND status = ?2";
    expect_one(change(db, sql, (&id, from.as_str(), to.as_str(), micros(now)))?, "the shard's job")?;

    let sql = "SELECT s.job_id, s.account, s.attempt, s.failures, s.last_failure, s.first_episode, s.end_episode,
                      j.header, j.policy_path
               FROM shards AS s JOIN jobs AS j USING (job_id) WHERE s.job_id = ?1 AND s.shard = ?2";
    first(db, sql, (&id, shard), |row| read_claim(db, row, job_id, shard))
}

/// Returns true if the shard runs in the secret worlds of a season.
fn is_secret(db: &Connection, id: &str, shard: u32) -> SqlResult<bool> {
    let sql = "SELECT j.kind = 'submission' AND s.first_episode < j.num_episodes - ?3
               FROM shards AS s JOIN jobs AS j USING (job_id) WHERE s.job_id = ?1 AND s.shard = ?2";
    value(db, sql, (id, shard, SHOWCASE_EPISODES))
}

fn read_claim(db: &Connection, row: &Row<'_>, job_id: JobId, shard: u32) -> SqlResult<Claim> {
    let (start, end): (u32, u32) = (row.get("first_episode")?, row.get("end_episode")?);
    let sql = "SELECT episode FROM episodes WHERE job_id = ?1 AND episode >= ?2 AND episode < ?3";
    let done: Vec<u32> = all(db, sql, (job_id.to_string(), start, end), |row| Ok(row.get(0)?))?;
    Ok(Claim {
        fence: Fence { job_id, shard, attempt: row.get("attempt")? },
        account: parsed(row, "account")?,
        header: json(row, "header")?,
        policy_path: row.get("policy_path")?,
        episodes: (start..end).filter(|episode| !done.contains(episode)).collect(),
        failures: row.get("failures")?,
        last_failure: row.get("last_failure")?,
        notes: attempt_notes::of(db, job_id, start, end)?
            .into_iter()
            .filter(|note| !done.contains(&note.episode()))
            .collect(),
    })
}

pub(super) fn heartbeat(db: &Connection, fence: Fence, now: Timestamp, lease: SignedDuration) -> SqlResult<Lease> {
    let sql = "UPDATE shards SET lease_until = max(lease_until, ?4)
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3";
    let changed = change(db, sql, (fence.job_id.to_string(), fence.shard, fence.attempt, until(now, lease)))?;
    Ok(if changed == 1 { Lease::Held } else { Lease::Lost })
}

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
    let sql = "INSERT INTO episodes (job_id, episode, shard, attempt, status, recorded_at, result)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
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

pub(super) fn release(db: &Connection, fence: Fence) -> SqlResult<ReturnOutcome> {
    let sql = "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3";
    let changed = change(db, sql, (fence.job_id.to_string(), fence.shard, fence.attempt))?;
    Ok(if changed == 1 { ReturnOutcome::Requeued } else { ReturnOutcome::Fenced })
}

pub(super) fn postpone(db: &Connection, fence: Fence, not_before: Timestamp, reason: &str) -> SqlResult<ReturnOutcome> {
    let sql =
        "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL, not_before = ?4, last_failure = ?5
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3";
    let reason = assay_model::sanitise(reason, MAX_REASON_BYTES);
    let values = (fence.job_id.to_string(), fence.shard, fence.attempt, micros(not_before), reason);
    Ok(if change(db, sql, values)? == 1 { ReturnOutcome::Requeued } else { ReturnOutcome::Fenced })
}

pub(super) fn give_up(db: &Connection, fence: Fence, reason: &str, now: Timestamp) -> SqlResult<ReturnOutcome> {
    let reason = assay_model::sanitise(reason, MAX_REASON_BYTES);
    let id = fence.job_id.to_string();
    let sql = "UPDATE shards SET state = 'QUEUED', worker = NULL, lease_until = NULL, failures = failures + 1,
                                 last_failure = ?4
               WHERE job_id = ?1 AND shard = ?2 AND state = 'LEASED' AND attempt = ?3";
    if change(db, sql, (&id, fence.shard, fence.attempt, &reason))? == 0 {
        return Ok(ReturnOutcome::Fenced);
    }
    let failures: u32 = value(db, "SELECT failures FROM shards WHERE job_id = ?1 AND shard = ?2", (&id, fence.shard))?;
    if failures <= MAX_RETRIES {
        return Ok(ReturnOutcome::Requeued);
    }
    let failure = JobFailure { blame: Blame::Platform, message: reason };
    jobs::fail(db, fence.job_id, &failure, now)?;
    Ok(ReturnOutcome::JobFailed)
}
