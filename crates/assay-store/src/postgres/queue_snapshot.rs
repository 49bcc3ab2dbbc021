//! The snapshot of the queue.

use std::collections::HashMap;
use std::sync::Arc;

use assay_model::{AccountId, Grid, JobId, ScenarioId};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;

use super::durations::WINDOW;
use super::failure::PgResult;
use super::row::{all, field, first, job_id, micros, number, parsed, text, time, time_or_null, value};
use super::session::PgSession;
use super::{PostgresRecords, publication};
use crate::{EpisodeDuration, HiddenSubmission, OpenShard, QueueReader, QueueSnapshot, StoreError};

/// Ratio of the limit of later jobs to that of shards; listing them is cheap.
const LATER: i64 = 10;
/// The queued jobs that are not submissions. The first condition is that of the index.
const QUEUED: &str = "jobs WHERE status IN ('QUEUED', 'RUNNING') AND status = 'QUEUED' AND kind <> 'submission'";
/// The columns of a shard: of `s` and its job `j`.
const COLUMNS: &str = "s.job_id, j.status = 'QUEUED' AS is_queued, s.account, j.scenario, s.remote, s.since,
    s.end_episode - s.first_episode - CASE j.episodes_done WHEN 0 THEN 0 ELSE
        (SELECT count(*) FROM episodes AS e WHERE e.job_id = s.job_id AND e.episode >= s.first_episode
         AND e.episode < s.end_episode) END AS episodes_left";

#[async_trait]
impl QueueReader for PostgresRecords {
    async fn queue_snapshot(&self, limit: u32, now: Timestamp) -> Result<QueueSnapshot, StoreError> {
        self.engine.read("reading the queue", |db| snapshot(db, limit, now)).await
    }

    async fn queued_between(&self, after: Option<JobId>, last: JobId) -> Result<u32, StoreError> {
        self.engine.query("counting the jobs ahead", |db| queued_between(db, after, last)).await
    }
}

async fn queued_between(db: PgSession, after: Option<JobId>, last: JobId) -> PgResult<u32> {
    let sql = format!("SELECT count(*) AS n FROM {QUEUED} AND ($1::uuid IS NULL OR job_id > $1) AND job_id <= $2");
    let found = first(&db, &sql, &[&after.map(|job| job.0), &last.0], |row| number(row, "n")).await?;
    Ok(found.unwrap_or_default())
}

async fn snapshot(db: PgSession, limit: u32, now: Timestamp) -> PgResult<QueueSnapshot> {
    let sql = "SELECT account, turn FROM account_turns";
    let turns = all(&db, sql, &[], |row| Ok((text(row, "account")?.to_owned(), number::<u64>(row, "turn")?))).await?;
    let mut names = SnapshotNames { turns: turns.into_iter().collect(), ..SnapshotNames::default() };
    let sql = format!(
        "SELECT {COLUMNS} FROM shards AS s JOIN jobs AS j USING (job_id)
         WHERE s.state = 'LEASED' AND j.kind <> 'submission' ORDER BY s.job_id, s.shard"
    );
    let mut shards = all(&db, &sql, &[], |row| names.shard(row, true)).await?;
    let sql = format!(
        "SELECT {COLUMNS} FROM (SELECT * FROM shards WHERE state = 'QUEUED' ORDER BY job_id, shard LIMIT $1) AS s
         JOIN jobs AS j USING (job_id) WHERE j.kind <> 'submission' ORDER BY s.job_id, s.shard"
    );
    let queued = all(&db, &sql, &[&i64::from(limit)], |row| names.shard(row, false)).await?;
    let is_full = queued.len() >= limit as usize;
    shards.extend(queued);
    let sql = format!("SELECT job_id FROM {QUEUED} AND job_id > $1 ORDER BY job_id LIMIT $2");
    let later = match shards.last() {
        Some(last) if is_full => {
            let most = i64::from(limit).saturating_mul(LATER);
            all(&db, &sql, &[&last.job_id.0, &most], |row| job_id(row, "job_id")).await?
        }
        _ => Vec::new(),
    };
    let hidden = hidden(&db, &mut names, limit, now).await?;
    let mut episode_durations = all(&db, "SELECT scenario, remote, seconds FROM paces", &[], duration).await?;
    for scenario in names.scenarios.values() {
        if !episode_durations.iter().any(|known: &EpisodeDuration| !known.remote && known.scenario == **scenario) {
            episode_durations.extend(of_showcases(&db, scenario, now).await?);
        }
    }
    let conclusion_s = first(&db, "SELECT seconds FROM conclusion_pace", &[], |row| field(row, "seconds")).await?;
    Ok(QueueSnapshot { shards, hidden, later, episode_durations, conclusion_s })
}

fn duration(row: &Row) -> PgResult<EpisodeDuration> {
    Ok(EpisodeDuration {
        scenario: parsed(row, "scenario")?,
        remote: field(row, "remote")?,
        seconds: field(row, "seconds")?,
    })
}

/// Returns the submissions whose end is not published.
async fn hidden(
    db: &PgSession,
    names: &mut SnapshotNames,
    limit: u32,
    now: Timestamp,
) -> PgResult<Vec<HiddenSubmission>> {
    let columns = "job_id, account, scenario, num_episodes, created_at, started_at, completed_at,
                   (SELECT max(at) FROM events WHERE events.job_id = jobs.job_id AND events.status = 'JUDGING')
                       AS judging_at";
    let longest = SignedDuration::from_secs(i64::from(Grid::STEP_S + Grid::SETTLE_S));
    let since = now.saturating_sub(longest).map_or(i64::MIN, micros);
    let published_at = publication::at("jobs");
    let sql = format!(
        "SELECT {columns} FROM jobs WHERE kind = 'submission' AND status IN ('QUEUED', 'RUNNING', 'JUDGING')
         UNION ALL
         SELECT {columns} FROM jobs
         WHERE completed_at >= $2 AND completed_at IS NOT NULL AND policy_path IS NOT NULL
               AND policy_removed_at IS NULL AND kind = 'submission' AND status <> 'CANCELLED' AND {published_at} > $3
         ORDER BY job_id LIMIT $1"
    );
    all(db, &sql, &[&i64::from(limit), &since, &micros(now)], |row| {
        Ok(HiddenSubmission {
            job_id: job_id(row, "job_id")?,
            account: names.account(row)?.0,
            scenario: names.scenario(row)?,
            episodes: number(row, "num_episodes")?,
            created_at: time(row, "created_at")?,
            started_at: time_or_null(row, "started_at")?,
            judging_at: time_or_null(row, "judging_at")?,
        })
    })
    .await
}

/// Returns the duration of an episode of a scenario on which only submissions ran: from their showcases, once
/// published.
async fn of_showcases(db: &PgSession, scenario: &ScenarioId, now: Timestamp) -> PgResult<Option<EpisodeDuration>> {
    let published_at = publication::at("jobs");
    let sql = format!(
        "SELECT avg(seconds) FROM (
             SELECT (SELECT wall_time_s FROM episodes
                     WHERE episodes.job_id = jobs.job_id AND episode = num_episodes - 1) AS seconds
             FROM jobs WHERE scenario = $1 AND season IS NOT NULL AND kind = 'submission' AND status = 'COMPLETED'
                             AND {published_at} <= $2
             ORDER BY season DESC, job_id DESC LIMIT $3) AS last"
    );
    let seconds: Option<f64> = value(db, &sql, &[&scenario.as_str(), &micros(now), &i64::from(WINDOW)]).await?;
    Ok(seconds.map(|seconds| EpisodeDuration { scenario: scenario.clone(), remote: false, seconds }))
}

/// Texts shared by many rows.
#[derive(Default)]
struct SnapshotNames {
    turns: HashMap<String, u64>,
    /// Accounts, each with its turn.
    accounts: HashMap<String, (Arc<AccountId>, u64)>,
    scenarios: HashMap<String, Arc<ScenarioId>>,
}

impl SnapshotNames {
    fn shard(&mut self, row: &Row, is_taken: bool) -> PgResult<OpenShard> {
        let (account, turn) = self.account(row)?;
        Ok(OpenShard {
            job_id: job_id(row, "job_id")?,
            is_queued_job: field(row, "is_queued")?,
            account,
            turn,
            scenario: self.scenario(row)?,
            remote: field(row, "remote")?,
            episodes_left: number(row, "episodes_left")?,
            since: time_or_null(row, "since")?.filter(|_| is_taken),
        })
    }

    fn account(&mut self, row: &Row) -> PgResult<(Arc<AccountId>, u64)> {
        let name = text(row, "account")?;
        if let Some(known) = self.accounts.get(name) {
            return Ok(known.clone());
        }
        let turn = self.turns.get(name).copied().unwrap_or_default();
        let known = (Arc::new(parsed(row, "account")?), turn);
        self.accounts.insert(name.to_owned(), known.clone());
        Ok(known)
    }

    fn scenario(&mut self, row: &Row) -> PgResult<Arc<ScenarioId>> {
        let name = text(row, "scenario")?;
        if let Some(known) = self.scenarios.get(name) {
            return Ok(Arc::clone(known));
        }
        let scenario: Arc<ScenarioId> = Arc::new(parsed(row, "scenario")?);
        self.scenarios.insert(name.to_owned(), Arc::clone(&scenario));
        Ok(scenario)
    }
}
