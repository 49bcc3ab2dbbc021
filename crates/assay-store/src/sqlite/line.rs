//! What waits, and the table of paces.

use std::collections::HashMap;
use std::sync::Arc;

use assay_model::{AccountId, JobId, ScenarioId};
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::SqliteRecords;
use super::fail::Sql;
use super::row::{Column, all, change, first, micros, parsed, text, time_or_null, value};
use crate::{Fence, Line, Lines, OpenShard, Pace, StoreError};

/// A pace is a mean over about so many episodes, once there were so many.
const WINDOW: u32 = 20;
/// So many times the limit of jobs that are later are told of, since that costs little.
const LATER: u32 = 10;
/// Rows of the line that are read before others may have the processor.
const ROWS_AT_ONCE: usize = 32;
/// Conclusions that are looked at for how long one takes.
const CONCLUSIONS: u32 = 20;

#[async_trait]
impl Lines for SqliteRecords {
    async fn line(&self, limit: u32) -> Result<Line, StoreError> {
        // Many rows: not on a thread that others wait for.
        self.read_apart("looking at the line", move |db| line(db, limit)).await
    }

    async fn queued_between(&self, after: Option<JobId>, last: JobId) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM jobs WHERE status = 'QUEUED' AND job_id > ?1 AND job_id <= ?2";
        let after = after.map(|job| job.to_string()).unwrap_or_default();
        self.ask("counting the jobs ahead", |db| value(db, sql, (after, last.to_string())))
    }
}

fn line(db: &Connection, limit: u32) -> Sql<Line> {
    let lacks = "s.end_episode - s.first_episode - CASE j.episodes_done WHEN 0 THEN 0 ELSE
                    (SELECT count(*) FROM episodes AS e WHERE e.job_id = s.job_id AND e.episode >= s.first_episode
                     AND e.episode < s.end_episode) END";
    let columns = format!("s.job_id, j.status = 'QUEUED', s.account, j.scenario, s.remote, {lacks}, s.since");
    let mut names = Names { db, accounts: HashMap::new(), scenarios: HashMap::new() };
    // Found through its index: those that are done stay in the table, and they are the most.
    let sql = format!(
        "SELECT {columns} FROM shards AS s JOIN jobs AS j USING (job_id) WHERE s.state = 'LEASED'
                       ORDER BY s.job_id, s.shard"
    );
    let mut shards = all(db, &sql, [], |row| names.shard(row, true))?;
    let sql = format!(
        "SELECT {columns} FROM
                           (SELECT job_id, shard FROM shards INDEXED BY shards_queued WHERE state = 'QUEUED'
                            ORDER BY job_id, shard LIMIT ?1) AS first
                       CROSS JOIN shards AS s USING (job_id, shard) CROSS JOIN jobs AS j USING (job_id)"
    );
    let mut rows = 0_usize;
    let mut queued = all(db, &sql, [limit], |row| {
        rows += 1;
        if rows.is_multiple_of(ROWS_AT_ONCE) {
            // Requests go first, also where all threads share a processor.
            std::thread::yield_now();
        }
        names.shard(row, false)
    })?;
    queued.sort_by_key(|shard| shard.job_id);
    shards.extend(queued);
    let sql = "SELECT job_id FROM jobs WHERE status = 'QUEUED' AND job_id > ?1 ORDER BY job_id LIMIT ?2";
    let later = match shards.last() {
        Some(last) if rows >= limit as usize => {
            all(db, sql, (last.job_id.to_string(), limit.saturating_mul(LATER)), |row| {
                parsed(row, Column::nth(0, "job_id"))
            })?
        }
        _ => Vec::new(),
    };
    let paces = all(db, "SELECT scenario, remote, seconds FROM paces", [], |row| {
        Ok(Pace { scenario: parsed(row, "scenario")?, remote: row.get("remote")?, seconds: row.get("seconds")? })
    })?;
    let sql = "SELECT avg(done.at - judging.at) / 1e6 FROM
                   (SELECT job_id, number, at FROM events WHERE status = 'COMPLETED' ORDER BY event DESC LIMIT ?1) AS done
                   JOIN events AS judging ON judging.job_id = done.job_id AND judging.number = done.number - 1
                   WHERE judging.status = 'JUDGING'";
    Ok(Line { shards, later, paces, conclusion_s: value(db, sql, [CONCLUSIONS])? })
}

/// Texts that many rows share.
struct Names<'a> {
    db: &'a Connection,
    /// With the account's turn.
    accounts: HashMap<String, (Arc<AccountId>, u64)>,
    scenarios: HashMap<String, Arc<ScenarioId>>,
}

impl Names<'_> {
    fn shard(&mut self, row: &Row<'_>, is_taken: bool) -> Sql<OpenShard> {
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

    fn account(&mut self, row: &Row<'_>, column: Column) -> Sql<(Arc<AccountId>, u64)> {
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

    fn scenario(&mut self, row: &Row<'_>, column: Column) -> Sql<Arc<ScenarioId>> {
        if let Some(known) = self.scenarios.get(text(row, column)?) {
            return Ok(Arc::clone(known));
        }
        let scenario: Arc<ScenarioId> = Arc::new(parsed(row, column)?);
        self.scenarios.insert(scenario.to_string(), Arc::clone(&scenario));
        Ok(scenario)
    }
}

/// Measures the episode that the shard's holder has just recorded.
pub(super) fn measure(db: &Connection, fence: Fence, now: Timestamp) -> Sql<()> {
    let sql = "SELECT s.job_id, j.scenario, s.remote, s.since FROM shards AS s JOIN jobs AS j USING (job_id)
               WHERE s.job_id = ?1 AND s.shard = ?2 AND s.since IS NOT NULL";
    let found = first(db, sql, (fence.job_id.to_string(), fence.shard), |row| {
        Ok((row.get::<_, String>("scenario")?, row.get::<_, bool>("remote")?, time_or_null(row, "since")?))
    })?;
    let Some((scenario, remote, Some(since))) = found else { return Ok(()) };
    let seconds = now.duration_since(since).as_secs_f64().max(0.0);
    let sql = "INSERT INTO paces (scenario, remote, episodes, seconds) VALUES (?1, ?2, 1, ?3)
               ON CONFLICT DO UPDATE SET episodes = episodes + 1,
                                         seconds = seconds + (?3 - seconds) / min(episodes + 1, ?4)";
    change(db, sql, (scenario, remote, seconds, WINDOW))?;
    let sql = "UPDATE shards SET since = ?3 WHERE job_id = ?1 AND shard = ?2";
    change(db, sql, (fence.job_id.to_string(), fence.shard, micros(now))).map(drop)
}
