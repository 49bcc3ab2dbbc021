//! Claims of shards: which shard is the next, and what its worker needs to run it.
//!
//! A claim waits for no lock: it skips rows that other transactions have locked, so it cannot be part of a deadlock although
//! it locks a shard before its job. An end of the job that comes meanwhile waits for the claim, and then takes the shard away.

use assay_model::{AccountId, JobId, JobKind, JobStatus};
use futures_util::future::join4;
use tokio_postgres::Row;

use super::attempt_notes;
use super::claim_batches::{ShardChoice, ShardRequest};
use super::failure::PgResult;
use super::row::{all, change, expect_one, field, first, job_id, json, micros, number, parsed, status, text, until};
use super::session::PgSession;
use crate::{Claim, Fence};

/// Maximum number of accounts that a claim tries.
const MAX_ACCOUNTS: i64 = 64;
/// Maximum number of jobs of an account that a claim tries.
const MAX_JOBS: usize = 16;

/// Lists the accounts with queued shards: those that hold the fewest shards of that kind first and, among several such
/// accounts, the one whose last claim is longest ago, so that accounts take turns even on one lane. The recursion steps from
/// account to account through the index, so the length of the queue does not matter.
const ACCOUNTS: &str = "
    WITH RECURSIVE waiting (account) AS (
        (SELECT account FROM shards WHERE state = 'QUEUED' AND remote = $1 AND not_before <= $2
         ORDER BY account LIMIT 1)
        UNION ALL
        SELECT (SELECT account FROM shards
                WHERE state = 'QUEUED' AND remote = $1 AND not_before <= $2 AND account > waiting.account
                ORDER BY account LIMIT 1)
        FROM waiting WHERE waiting.account IS NOT NULL
    )
    SELECT account,
           (SELECT count(*) FROM shards
            WHERE state = 'LEASED' AND remote = $1 AND account = waiting.account) AS held,
           (SELECT job_id FROM shards
            WHERE state = 'QUEUED' AND remote = $1 AND not_before <= $2 AND account = waiting.account
            ORDER BY job_id LIMIT 1) AS oldest
    FROM waiting LEFT JOIN account_turns USING (account)
    WHERE account IS NOT NULL AND account <> ALL($3)
    ORDER BY held, turn NULLS FIRST, oldest LIMIT $4";

/// Locks the oldest queued shard of an account, except those of the jobs `$4`.
const NEXT: &str = "
    SELECT job_id, shard, attempt, failures, last_failure, first_episode, end_episode, status, header, policy_path,
           jobs.account
    FROM (SELECT job_id, shard, attempt, failures, last_failure, first_episode, end_episode FROM shards
          WHERE state = 'QUEUED' AND remote = $1 AND not_before <= $2 AND account = $3 AND job_id <> ALL($4)
          ORDER BY job_id, shard LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) AS next
    JOIN jobs USING (job_id)";

/// Result of a request for a shard.
pub(super) enum PickedShard {
    Claimed(Box<Claim>),
    Nothing,
    /// Work is queued, but other transactions have locked it.
    Contended,
}

/// Claims a shard for each request in the open transaction.
pub(super) async fn claim_all(db: PgSession, requests: &[&ShardRequest]) -> PgResult<Vec<PickedShard>> {
    let mut picked = Vec::with_capacity(requests.len());
    for request in requests {
        picked.push(claim(&db, request).await?);
    }
    Ok(picked)
}

async fn claim(db: &PgSession, request: &ShardRequest) -> PgResult<PickedShard> {
    let excluded: Vec<&str> = request.excluded_accounts.iter().map(AccountId::as_str).collect();
    let is_remote = request.choice == ShardChoice::Remote;
    let parameters: &[super::row::Parameter<'_>] = &[&is_remote, &micros(request.now), &excluded, &MAX_ACCOUNTS];
    let accounts = all(db, ACCOUNTS, parameters, |row| text(row, "account").map(str::to_owned)).await?;
    // Takes the first account from which no other process claims at this moment.
    let mut busy = Vec::new();
    for account in &accounts {
        if accounts.len() > 1 && !lock_turn(db, account).await? {
            busy.push(account);
            continue;
        }
        match claim_of(db, request, account).await? {
            PickedShard::Contended => {}
            done => return Ok(done),
        }
    }
    for account in busy {
        match claim_of(db, request, account).await? {
            PickedShard::Contended => {}
            done => return Ok(done),
        }
    }
    Ok(if accounts.is_empty() { PickedShard::Nothing } else { PickedShard::Contended })
}

async fn lock_turn(db: &PgSession, account: &str) -> PgResult<bool> {
    let sql = "SELECT account FROM account_turns WHERE account = $1 FOR UPDATE SKIP LOCKED";
    Ok(first(db, sql, &[&account], |_| Ok(())).await?.is_some())
}

/// A shard whose row is locked, with its job.
struct LockedShard {
    claim: Claim,
    range: std::ops::Range<u32>,
    status: JobStatus,
}

/// Claims the oldest shard of an account.
async fn claim_of(db: &PgSession, request: &ShardRequest, account: &str) -> PgResult<PickedShard> {
    let is_remote = request.choice == ShardChoice::Remote;
    let mut skipped = Vec::new();
    while skipped.len() < MAX_JOBS {
        let parameters: &[super::row::Parameter<'_>] = &[&is_remote, &micros(request.now), &account, &skipped];
        let next = first(db, NEXT, parameters, read).await?;
        let Some(next) = next else { return Ok(PickedShard::Contended) };
        if request.choice == ShardChoice::Secret && !next.is_secret() {
            return Ok(PickedShard::Nothing);
        }
        if start(db, &next, request).await? {
            return Ok(PickedShard::Claimed(Box::new(lease(db, next, request).await?)));
        }
        skipped.push(next.claim.fence.job_id.0);
    }
    Ok(PickedShard::Contended)
}

/// Moves the job to RUNNING. Returns false if another transaction is about to start or end it.
async fn start(db: &PgSession, next: &LockedShard, request: &ShardRequest) -> PgResult<bool> {
    if next.status == JobStatus::Running {
        return Ok(true);
    }
    let id = next.claim.fence.job_id.0;
    let sql = "UPDATE jobs SET status = 'RUNNING', started_at = coalesce(started_at, $2) WHERE job_id = (
                   SELECT job_id FROM jobs WHERE job_id = $1 AND status = 'QUEUED' FOR NO KEY UPDATE SKIP LOCKED)";
    if change(db, sql, &[&id, &micros(request.now)]).await? == 1 {
        return Ok(true);
    }
    let found = first(db, "SELECT job_id, status FROM jobs WHERE job_id = $1", &[&id], status).await?;
    Ok(found == Some(JobStatus::Running))
}

/// Leases a shard whose row is locked and whose job is RUNNING.
async fn lease(db: &PgSession, next: LockedShard, request: &ShardRequest) -> PgResult<Claim> {
    let LockedShard { mut claim, range, .. } = next;
    let Fence { job_id: JobId(id), shard, .. } = claim.fence;
    let (shard, start, end) = (i64::from(shard), i64::from(range.start), i64::from(range.end));
    let (until, now) = (until(request.now, request.lease), micros(request.now));
    let leased = "UPDATE shards SET state = 'LEASED', attempt = attempt + 1, worker = $3, lease_until = $4, since = $5
                  WHERE job_id = $1 AND shard = $2 AND state = 'QUEUED'";
    let turned = "UPDATE account_turns SET turn = nextval('turns') WHERE account = (
                      SELECT account FROM account_turns WHERE account = $1 FOR UPDATE SKIP LOCKED)";
    let recorded = "SELECT job_id, episode FROM episodes WHERE job_id = $1 AND episode >= $2 AND episode < $3";
    let account = claim.account.as_str();
    let (leased, turned, done, notes) = join4(
        change(db, leased, &[&id, &shard, &request.worker, &until, &now]),
        change(db, turned, &[&account]),
        all(db, recorded, &[&id, &start, &end], |row| number::<u32>(row, "episode")),
        attempt_notes::of(db, claim.fence.job_id, range.clone()),
    )
    .await;
    expect_one(leased?, "a queued shard")?;
    turned?;
    let done = done?;
    claim.notes = notes?.into_iter().filter(|note| !done.contains(&note.episode())).collect();
    claim.episodes = range.filter(|episode| !done.contains(episode)).collect();
    Ok(claim)
}

impl LockedShard {
    /// Returns true if it runs in the secret worlds of a season.
    fn is_secret(&self) -> bool {
        let header = &self.claim.header;
        header.kind() == JobKind::Submission && self.range.start < header.plan.episodes
    }
}

fn read(row: &Row) -> PgResult<LockedShard> {
    let range = number(row, "first_episode")?..number(row, "end_episode")?;
    let attempt = number::<u32>(row, "attempt")? + 1;
    let claim = Claim {
        fence: Fence { job_id: job_id(row, "job_id")?, shard: number(row, "shard")?, attempt },
        account: parsed(row, "account")?,
        header: json(row, "header")?,
        policy_path: field(row, "policy_path")?,
        episodes: Vec::new(),
        failures: number(row, "failures")?,
        last_failure: field(row, "last_failure")?,
        notes: Vec::new(),
    };
    Ok(LockedShard { claim, range, status: status(row)? })
}
