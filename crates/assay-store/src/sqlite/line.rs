//! What waits, and the table of paces.

use assay_model::JobId;
use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, Row};

use super::SqliteRecords;
use super::fail::Sql;
use super::jobs::status;
use super::row::{all, change, first, micros, parsed, time_or_null, value};
use crate::{Fence, Line, Lines, OpenShard, Pace, StoreError};

/// A pace is a mean over about so many episodes, once there were so many.
const WINDOW: u32 = 20;
/// Conclusions that are looked at for how long one takes.
const CONCLUSIONS: u32 = 20;

#[async_trait]
impl Lines for SqliteRecords {
    async fn line(&self, limit: u32) -> Result<Line, StoreError> {
        self.read("looking at the line", |db| line(db, limit))
    }

    async fn place_by_age(&self, job: JobId) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM jobs WHERE status = 'QUEUED' AND job_id <= ?1";
        self.read("counting the jobs ahead", |db| value(db, sql, [job.to_string()]))
    }
}

fn line(db: &Connection, limit: u32) -> Sql<Line> {
    // Texts of their own for both states, so that each uses its index.
    let select = |state: &str, limit: &str| {
        format!(
            "SELECT s.job_id, s.account, (SELECT turn FROM account_use WHERE account = s.account) AS turn, j.scenario, j.status, s.remote, s.since,
                    s.end_episode - s.first_episode
                    - (SELECT count(*) FROM episodes AS e WHERE e.job_id = s.job_id AND e.episode >= s.first_episode
                       AND e.episode < s.end_episode) AS lacks
             FROM shards AS s JOIN jobs AS j USING (job_id) WHERE s.state = '{state}'
             ORDER BY s.job_id, s.shard {limit}"
        )
    };
    let mut shards = all(db, &select("LEASED", ""), [], |row| shard(row, true))?;
    shards.extend(all(db, &select("QUEUED", "LIMIT ?1"), [limit], |row| shard(row, false))?);
    let paces = all(db, "SELECT scenario, remote, seconds FROM paces", [], |row| {
        Ok(Pace { scenario: parsed(row, "scenario")?, remote: row.get("remote")?, seconds: row.get("seconds")? })
    })?;
    let sql = "SELECT avg(done.at - judging.at) / 1e6 FROM
                   (SELECT job_id, number, at FROM events WHERE status = 'COMPLETED' ORDER BY event DESC LIMIT ?1) AS done
                   JOIN events AS judging ON judging.job_id = done.job_id AND judging.number = done.number - 1
                   WHERE judging.status = 'JUDGING'";
    Ok(Line { shards, paces, conclusion_s: value(db, sql, [CONCLUSIONS])? })
}

fn shard(row: &Row<'_>, is_taken: bool) -> Sql<OpenShard> {
    Ok(OpenShard {
        job_id: parsed(row, "job_id")?,
        is_queued_job: status(row)? == assay_model::JobStatus::Queued,
        account: parsed(row, "account")?,
        turn: row.get::<_, i64>("turn")?.unsigned_abs(),
        scenario: parsed(row, "scenario")?,
        remote: row.get("remote")?,
        episodes_left: row.get("lacks")?,
        since: time_or_null(row, "since")?.filter(|_| is_taken),
    })
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
