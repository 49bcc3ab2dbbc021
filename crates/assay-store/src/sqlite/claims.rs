//! Claims of shards: which shard is the next, and what its worker needs to run it.

use assay_model::{JobEvent, JobId, SHOWCASE_EPISODES};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, Row};

use super::attempt_notes;
use super::failure::{SqlFailure, SqlResult};
use super::row::{all, change, expect_one, first, json, micros, parsed, status, to_json, until, value};
use crate::shard_request::label_texts;
use crate::{Claim, ExcludedShards, Fence, ShardKind, ShardRequest, StoreError};

/// The queued shards that a request admits: ?1 is the kind, ?2 the time, ?4 to ?8 are the worker's capabilities,
/// ?9 the keys of excluded shards, ?10 the
/// worker's labels.
macro_rules! admitted {
    () => {
        "state = 'QUEUED' AND remote = ?1 AND not_before <= ?2 AND (machine IS NULL OR ?4 IS NULL OR machine = ?4)
         AND (runtime IS NULL OR ?5 IS NULL OR runtime IN (SELECT value FROM json_each(?5)))
         AND cameras <= ?6 AND memory_mib <= ?7 AND confined <= ?8
         AND job_id NOT IN (SELECT value FROM json_each(?9))
         AND job_id || '/' || shard NOT IN (SELECT value FROM json_each(?9))
         AND (labels IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(labels) AS demanded
                                            WHERE demanded.value NOT IN (SELECT value FROM json_each(?10))))"
    };
}

/// Selects the oldest shard of the account that holds the fewest shards of that kind and, among several such accounts,
/// of the one whose last claim is longest ago, so that accounts take turns even on one lane. The recursion steps from
/// account to account through the index, so the length of the queue does not matter.
const NEXT: &str = concat!(
    "WITH RECURSIVE waiting (account) AS (
        SELECT min(account) FROM shards WHERE ",
    admitted!(),
    "   UNION ALL
        SELECT (SELECT min(account) FROM shards WHERE ",
    admitted!(),
    "           AND account > waiting.account)
        FROM waiting WHERE waiting.account IS NOT NULL
    ), heads AS (
        SELECT account,
               (SELECT min(job_id) FROM shards WHERE ",
    admitted!(),
    "           AND account = waiting.account) AS job_id,
               (SELECT count(*) FROM shards
                WHERE state = 'LEASED' AND remote = ?1 AND account = waiting.account) AS held,
               (SELECT turn FROM account_use WHERE account = waiting.account) AS turn
        FROM waiting WHERE account IS NOT NULL AND account NOT IN (SELECT value FROM json_each(?3))
    )
    SELECT job_id, (SELECT min(shard) FROM shards WHERE ",
    admitted!(),
    "               AND account = heads.account AND job_id = heads.job_id) AS shard
    FROM heads ORDER BY held, turn, job_id LIMIT 1"
);

/// Selects a claimed shard; ?3 is its claim, or null for the current one.
const CLAIMED: &str = "
    SELECT s.job_id, s.account, s.attempt, s.failures, s.last_failure, s.first_episode, s.end_episode, j.header,
           j.policy_path
    FROM shards AS s JOIN jobs AS j USING (job_id)
    WHERE s.job_id = ?1 AND s.shard = ?2 AND s.state = 'LEASED' AND (?3 IS NULL OR s.attempt = ?3)";

/// A request in the form of the statement's parameters.
pub(super) struct PreparedRequest {
    worker: String,
    kind: ShardKind,
    /// The excluded accounts, as a JSON list.
    excluded_accounts: String,
    /// The keys of the excluded shards, as a JSON list.
    excluded_shards: String,
    /// Digest and JSON of the machine's fingerprint.
    machine: Option<(String, String)>,
    /// Digests of the runtimes, as a JSON list.
    runtimes: Option<String>,
    cameras: bool,
    memory_mib: u32,
    trust: u8,
    /// The labels, as a JSON list.
    labels: String,
}

impl PreparedRequest {
    pub(super) fn new(request: &ShardRequest) -> SqlResult<Self> {
        let can = &request.capabilities;
        let machine =
            can.machine.as_ref().map(|machine| Ok::<_, SqlFailure>((machine.digest().to_string(), to_json(machine)?)));
        Ok(Self {
            worker: request.worker.clone(),
            kind: request.kind,
            excluded_accounts: to_json(&request.excluded_accounts)?,
            excluded_shards: to_json(&request.excluded_shards.iter().map(ExcludedShards::key).collect::<Vec<_>>())?,
            machine: machine.transpose()?,
            runtimes: can.runtimes.as_ref().map(to_json).transpose()?,
            cameras: can.cameras,
            memory_mib: can.memory_mib,
            trust: can.trust.level(),
            labels: to_json(&label_texts(&can.labels))?,
        })
    }

    fn machine_digest(&self) -> Option<&str> {
        self.machine.as_ref().map(|(digest, _)| digest.as_str())
    }
}

/// Claims a shard that the request admits.
pub(super) fn claim(
    db: &Connection,
    request: &PreparedRequest,
    now: Timestamp,
    lease: SignedDuration,
) -> SqlResult<Option<Claim>> {
    let is_server = request.kind == ShardKind::Server;
    let values = (
        is_server,
        micros(now),
        &request.excluded_accounts,
        request.machine_digest(),
        &request.runtimes,
        request.cameras,
        request.memory_mib,
        request.trust,
        &request.excluded_shards,
        &request.labels,
    );
    let next = first(db, NEXT, values, |row| Ok((parsed::<JobId>(row, "job_id")?, row.get::<_, u32>("shard")?)))?;
    let Some((job_id, shard)) = next else { return Ok(None) };
    let id = job_id.to_string();
    if request.kind == ShardKind::Secret && !is_secret(db, &id, shard)? {
        return Ok(None);
    }
    pin(db, &id, shard, request)?;
    let sql = "UPDATE shards SET state = 'LEASED', attempt = attempt + 1, worker = ?3, lease_until = ?4, since = ?5
               WHERE job_id = ?1 AND shard = ?2 AND state = 'QUEUED'";
    expect_one(change(db, sql, (&id, shard, &request.worker, until(now, lease), micros(now)))?, "a queued shard")?;
    let sql = "UPDATE account_use SET turn = (SELECT max(turn) FROM account_use) + 1
               WHERE account = (SELECT account FROM jobs WHERE job_id = ?1)";
    change(db, sql, [&id])?;

    let sql = "SELECT job_id, status FROM jobs WHERE job_id = ?1";
    let from = first(db, sql, [&id], status)?
        .ok_or_else(|| StoreError::Invalid(format!("job {id} of a shard does not exist")))?;
    let to = from.after(JobEvent::Started).map_err(|e| StoreError::corrupt(&id, "status", e))?;
    let sql = "UPDATE jobs SET status = ?3, started_at = coalesce(started_at, ?4) WHERE job_id = ?1 AND status = ?2";
    expect_one(change(db, sql, (&id, from.as_str(), to.as_str(), micros(now)))?, "the shard's job")?;

    first(db, CLAIMED, (&id, shard, None::<u32>), |row| read_claim(db, row, job_id, shard))
}

/// Returns a shard with this claim, as long as its holder holds it.
pub(super) fn leased(db: &Connection, fence: Fence) -> SqlResult<Option<Claim>> {
    let values = (fence.job_id.to_string(), fence.shard, Some(fence.attempt));
    first(db, CLAIMED, values, |row| read_claim(db, row, fence.job_id, fence.shard))
}

/// Pins the job of a shard to the worker's machine, if it is not pinned yet.
fn pin(db: &Connection, id: &str, shard: u32, request: &PreparedRequest) -> SqlResult<()> {
    let Some((digest, fingerprint)) = &request.machine else { return Ok(()) };
    let sql = "SELECT machine IS NOT NULL FROM shards WHERE job_id = ?1 AND shard = ?2";
    if !value::<bool>(db, sql, (id, shard))? {
        change(db, "INSERT OR IGNORE INTO machines (digest, fingerprint) VALUES (?1, ?2)", (digest, fingerprint))?;
        change(db, "UPDATE shards SET machine = ?2 WHERE job_id = ?1", (id, digest))?;
    }
    Ok(())
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
