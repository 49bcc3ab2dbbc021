//! The snapshot of the queue, and the table of episode durations (`paces`).

use std::collections::HashMap;
use std::sync::Arc;

use assay_model::{AccountId, Grid, JobId, ScenarioId};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, Row};

use super::failure::SqlResult;
use super::row::{Column, all, change, first, micros, parsed, text, time, time_or_null, value};
use super::{SqliteRecords, publication};
use crate::{EpisodeDuration, Fence, HiddenSubmission, OpenShard, QueueReader, QueueSnapshot, StoreError};

/// Number of episodes in the moving mean of durations.
const WINDOW: u32 = 20;
/// Ratio of the limit of later jobs to that of shards; listing them is cheap.
const LATER: u32 = 10;
/// The queued jobs that are not submissions. The index contains all columns that are read here, and its condition must
/// be repeated for SQLite to use it.
const QUEUED: &str = "jobs INDEXED BY jobs_open
    WHERE status IN ('QUEUED', 'RUNNING') AND status = 'QUEUED' AND kind <> 'submission'";
/// The first queued shards; read from indices alone.
const SHARDS: &str = "SELECT s.job_id, j.status = 'QUEUED', s.account, j.scenario, s.remote,
           s.end_episode - s.first_episode - iif(j.status = 'QUEUED', 0,
           (SELECT count(*) FROM episodes AS e WHERE e.job_id = s.job_id AND e.episode >= s.first_episode
            AND e.episode < s.end_episode)), NULL AS since
    FROM (SELECT job_id, shard, account, remote, first_episode, end_episode
          FROM shards INDEXED BY shards_queued WHERE state = 'QUEUED' ORDER BY job_id, shard LIMIT ?1) AS s
    CROSS JOIN jobs AS j INDEXED BY jobs_open USING (job_id)
    WHERE j.status IN ('QUEUED', 'RUNNING') AND j.kind <> 'submission'";
/// Number of rows to read before yielding the processor.
const ROWS_AT_ONCE: usize = 32;

#[async_trait]
impl QueueReader for SqliteRecords {
    async fn queue_snapshot(&self, limit: u32, now: Timestamp) -> Result<QueueSnapshot, StoreError> {
        // Reads many rows, so it must not run on a thread of the async runtime.
        self.read_blocking("reading the queue", move |db| snapshot(db, limit, now)).await
    }

    async fn queued_between(&self, after: Option<JobId>, last: JobId) -> Result<u32, StoreError> {
        let sql = format!("SELECT count(*) FROM {QUEUED} AND job_id > ?1 AND job_id <= ?2");
        let after = after.map(|job| job.to_string()).unwrap_or_default();
        self.query("counting the jobs ahead", |db| value(db, &sql, (after, last.to_string())))
    }
}

fn snapshot(db: &Connection, limit: u32, now: Timestamp) -> SqlResult<QueueSnapshot> {
    let lacks = "s.end_episode - s.first_episode - CASE j.episodes_done WHEN 0 THEN 0 ELSE
                    (SELECT count(*) FROM episodes AS e WHERE e.job_id = s.job_id AND e.episode >= s.first_episode
                     AND e.episode < s.end_episode) END";
    let columns = format!("s.job_id, j.status = 'QUEUED', s.account, j.scenario, s.remote, {lacks}, s.since");
    let mut names = Names { db, accounts: HashMap::new(), scenarios: HashMap::new() };
    // Uses the index: shards that are done stay in the table and are the majority.
    let sql = format!(
        "SELECT {columns} FROM shards AS s JOIN jobs AS j USING (job_id) WHERE s.state = 'LEASED'
                           AND j.kind <> 'submission' ORDER BY s.job_id, s.shard"
    );
    let mut shards = all(db, &sql, [], |row| names.shard(row, true))?;
    let mut rows = 0_usize;
    let mut queued = all(db, SHARDS, [limit], |row| {
        rows += 1;
        if rows.is_multiple_of(ROWS_AT_ONCE) {
            // Requests have priority even if all threads share one processor.
            std::thread::yield_now();
        }
        names.shard(row, false)
    })?;
    queued.sort_by_key(|shard| shard.job_id);
    shards.extend(queued);
    let sql = format!("SELECT job_id FROM {QUEUED} AND job_id > ?1 ORDER BY job_id LIMIT ?2");
    let later = match shards.last() {
        Some(last) if rows >= limit as usize => {
            all(db, &sql, (last.job_id.to_string(), limit.saturating_mul(LATER)), |row| {
                parsed(row, Column::nth(0, "job_id"))
            })?
        }
        _ => Vec::new(),
    };
    let mut paces = all(db, "SELECT scenario, remote, seconds FROM paces", [], |row| {
        Ok(EpisodeDuration {
            scenario: parsed(row, "scenario")?,
            remote: row.get("remote")?,
            seconds: row.get("seconds")?,
        })
    })?;
    let hidden = hidden(db, &mut names, limit, now)?;
    for scenario in names.scenarios.values() {
        if !paces.iter().any(|pace: &EpisodeDuration| !pace.remote && pace.scenario == **scenario) {
            paces.extend(of_showcases(db, scenario, now)?);
        }
    }
    let conclusion_s = first(db, "SELECT seconds FROM conclusion_pace", [], |row| Ok(row.get(0)?))?;
    Ok(QueueSnapshot { shards, hidden, later, episode_durations: paces, conclusion_s })
}

/// Returns the submissions whose end is not published.
fn hidden(db: &Connection, names: &mut Names<'_>, limit: u32, now: Timestamp) -> SqlResult<Vec<HiddenSubmission>> {
    let columns = "job_id, account, scenario, num_episodes, created_at, started_at, completed_at,
                   (SELECT max(at) FROM events WHERE events.job_id = jobs.job_id AND events.status = 'JUDGING')
                       AS judging_at";
    let longest = SignedDuration::from_secs(i64::from(Grid::STEP_S + Grid::SETTLE_S));
    let since = now.saturating_sub(longest).map_or(i64::MIN, micros);
    let published_at = publication::at("jobs");
    let sql = format!(
        "SELECT {columns} FROM jobs INDEXED BY submissions_open
         WHERE kind = 'submission' AND status IN ('QUEUED', 'RUNNING', 'JUDGING')
         UNION ALL
         SELECT {columns} FROM jobs INDEXED BY jobs_with_policy
         WHERE completed_at >= ?2 AND completed_at IS NOT NULL AND policy_path IS NOT NULL
               AND policy_removed_at IS NULL AND kind = 'submission' AND status <> 'CANCELLED' AND {published_at} > ?3
         ORDER BY job_id LIMIT ?1"
    );
    all(db, &sql, (limit, since, micros(now)), |row| {
        let (account, _) = names.account(row, Column::nth(1, "account"))?;
        Ok(HiddenSubmission {
            job_id: parsed(row, "job_id")?,
            account,
            scenario: names.scenario(row, Column::nth(2, "scenario"))?,
            episodes: row.get("num_episodes")?,
            created_at: time(row, "created_at")?,
            started_at: time_or_null(row, "started_at")?,
            judging_at: time_or_null(row, "judging_at")?,
        })
    })
}

/// Returns the duration of an episode of a scenario on which only submissions ran: from their showcases, once
/// published.
fn of_showcases(db: &Connection, scenario: &ScenarioId, now: Timestamp) -> SqlResult<Option<EpisodeDuration>> {
    let published_at = publication::at("jobs");
    let sql = format!(
        "SELECT avg(seconds) FROM (
             SELECT (SELECT result ->> 'wall_time_s' FROM episodes
                     WHERE episodes.job_id = jobs.job_id AND episode = num_episodes - 1) AS seconds
             FROM jobs WHERE scenario = ?1 AND season IS NOT NULL AND kind = 'submission' AND status = 'COMPLETED'
                             AND {published_at} <= ?2
             ORDER BY season DESC, job_id DESC LIMIT ?3)"
    );
    let seconds: Option<f64> = value(db, &sql, (scenario.as_str(), micros(now), WINDOW))?;
    Ok(seconds.map(|seconds| EpisodeDuration { scenario: scenario.clone(), remote: false, seconds }))
}

/// Texts shared by many rows.
struct Names<'a> {
    db: &'a Connection,
    /// Accounts, each with its turn.
    accounts: HashMap<String, (Arc<AccountId>, u64)>,
    scenarios: HashMap<String, Arc<ScenarioId>>,
}

impl Names<'_> {
    fn shard(&mut self, row: &Row<'_>, is_taken: bool) -> SqlResult<OpenShard> {
        let column = Column::nth;
        let (account, turn) = self.account(row, column(2, "account"))?;
        Ok(OpenShard {
            job_id: parsed(row, column(0, "job_id"))?,
            is_queued_job: row.get(1)?,
            account,
            turn,
            scenario: self.scenario(row, column(3, "scenario"))?,
            remote: row.get(4)?,
            episodes_left: row.get(5)?,
            since: time_or_null(row, column(6, "since"))?.filter(|_| is_taken),
        })
    }

    fn account(&mut self, row: &Row<'_>, column: Column) -> SqlResult<(Arc<AccountId>, u64)> {
        if let Some(known) = self.accounts.get(text(row, column)?) {
            return Ok(known.clone());
        }
        let account: Arc<AccountId> = Arc::new(parsed(row, column)?);
        let turn = first(self.db, "SELECT turn FROM account_use WHERE account = ?1", [account.as_str()], |row| {
            Ok(row.get::<_, i64>(0)?.unsigned_abs())
        })?;
        let known = (account, turn.unwrap_or_default());
        self.accounts.insert(known.0.to_string(), known.clone());
        Ok(known)
    }

    fn scenario(&mut self, row: &Row<'_>, column: Column) -> SqlResult<Arc<ScenarioId>> {
        if let Some(known) = self.scenarios.get(text(row, column)?) {
            return Ok(Arc::clone(known));
        }
        let scenario: Arc<ScenarioId> = Arc::new(parsed(row, column)?);
        self.scenarios.insert(scenario.to_string(), Arc::clone(&scenario));
        Ok(scenario)
    }
}

/// Measures the duration of the episode just recorded, unless it is a submission's, whose durations would otherwise
/// show in the forecast of every job.
pub(super) fn measure(db: &Connection, fence: Fence, now: Timestamp) -> SqlResult<()> {
    let sql = "SELECT s.job_id, j.scenario, s.remote, s.since, j.kind = 'submission' AS is_hidden
               FROM shards AS s JOIN jobs AS j USING (job_id)
               WHERE s.job_id = ?1 AND s.shard = ?2 AND s.since IS NOT NULL";
    let found = first(db, sql, (fence.job_id.to_string(), fence.shard), |row| {
        let pace = (row.get::<_, String>("scenario")?, row.get::<_, bool>("remote")?);
        Ok((pace, time_or_null(row, "since")?, row.get::<_, bool>("is_hidden")?))
    })?;
    let Some(((scenario, remote), Some(since), is_hidden)) = found else { return Ok(()) };
    if !is_hidden {
        let seconds = now.duration_since(since).as_secs_f64().max(0.0);
        let sql = "INSERT INTO paces (scenario, remote, episodes, seconds) VALUES (?1, ?2, 1, ?3)
                   ON CONFLICT DO UPDATE SET episodes = episodes + 1,
                                             seconds = seconds + (?3 - seconds) / min(episodes + 1, ?4)";
        change(db, sql, (scenario, remote, seconds, WINDOW))?;
    }
    let sql = "UPDATE shards SET since = ?3 WHERE job_id = ?1 AND shard = ?2";
    change(db, sql, (fence.job_id.to_string(), fence.shard, micros(now))).map(drop)
}

/// Measures the duration of the conclusion just drawn, unless it is a submission's.
pub(super) fn measure_conclusion(db: &Connection, job: JobId, now: Timestamp) -> SqlResult<()> {
    let sql = "SELECT (SELECT max(recorded_at) FROM episodes WHERE episodes.job_id = jobs.job_id) AS judging_at
               FROM jobs WHERE job_id = ?1 AND kind <> 'submission'";
    let since = first(db, sql, [job.to_string()], |row| time_or_null(row, "judging_at"))?.flatten();
    let Some(since) = since else { return Ok(()) };
    let seconds = now.duration_since(since).as_secs_f64().max(0.0);
    let sql = "INSERT INTO conclusion_pace (one, jobs, seconds) VALUES (1, 1, ?1)
               ON CONFLICT DO UPDATE SET jobs = jobs + 1, seconds = seconds + (?1 - seconds) / min(jobs + 1, ?2)";
    change(db, sql, (seconds, WINDOW)).map(drop)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use rusqlite::Connection;

    use super::{QUEUED, SHARDS};
    use crate::sqlite::migrate::MIGRATIONS;

    /// A forecast reads ten thousand rows twice a second while clients wait.
    #[test]
    fn the_queue_is_read_from_indices_alone() {
        let db = Connection::open_in_memory().unwrap();
        for step in MIGRATIONS {
            db.execute_batch(step).unwrap();
        }
        for sql in [SHARDS.to_owned(), format!("SELECT count(*) FROM {QUEUED} AND job_id > ?1")] {
            let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = plan.query_map([None::<u32>], |row| row.get::<_, String>("detail")).unwrap();
            for step in steps.map(Result::unwrap) {
                let reads = step.starts_with("SEARCH") || step.starts_with("SCAN");
                assert!(!reads || step.contains("COVERING INDEX") || step == "SCAN s", "{step} in {sql}");
            }
        }
    }
}
