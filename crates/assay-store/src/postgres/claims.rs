//! Claims of shards: which shard is the next, and what its worker needs to run it.
//!
//! A claim waits for no lock: it skips rows that other transactions have locked, so it cannot be part of a deadlock
//! although it locks a shard before its job. An end of the job that comes meanwhile waits for the claim, and then
//! takes the shard away.

use assay_model::{AccountId, JobId, JobKind, JobStatus, Sha256Digest};
use futures_util::future::{join, join3};
use tokio_postgres::Row;
use uuid::Uuid;

use super::attempt_notes;
use super::claim_entry::{ClaimEntry, PickedShard};
use super::failure::PgResult;
use super::row::{
    Parameter, all, change, expect_one, field, first, job_id, json, micros, number, parsed, status, to_json, until,
    value,
};
use super::session::PgSession;
use crate::shard_request::label_texts;
use crate::{Claim, ExcludedShards, Fence, ShardKind, ShardRequest};

/// Maximum number of accounts that a claim tries.
const MAX_ACCOUNTS: i64 = 64;
/// Maximum number of jobs of an account that a claim tries.
const MAX_JOBS: usize = 16;

/// The queued shards that a request admits: $1 is the kind, $2 the time, $4 to $8 are the worker's capabilities, $10
/// the keys of excluded shards, $11 the worker's labels. The machine is looked up in a query of its own, since a join
/// would hide the order of the index.
macro_rules! admitted {
    () => {
        "shards
         WHERE state = 'QUEUED' AND remote = $1 AND not_before <= $2
         AND (runtime IS NULL OR $5::text[] IS NULL OR runtime = ANY($5))
         AND (NOT cameras OR $6) AND memory_mib <= $7 AND confined <= $8
         AND job_id::text <> ALL($10) AND job_id::text || '/' || shard <> ALL($10)
         AND (labels IS NULL OR labels::jsonb <@ $11::text::jsonb)
         AND ($4::text IS NULL OR (SELECT coalesce(machine = $4, true) FROM jobs WHERE jobs.job_id = shards.job_id))"
    };
}

/// Lists the accounts with queued shards that the request admits: those that hold the fewest shards of that kind
/// first and, among several such accounts, the one whose last claim is longest ago, so that accounts take turns even
/// on one lane. The recursion steps from account to account through the index, so the length of the queue does not
/// matter.
const ACCOUNTS: &str = concat!(
    "WITH RECURSIVE waiting (account) AS (
        (SELECT account FROM shards WHERE state = 'QUEUED' AND remote = $1 ORDER BY account LIMIT 1)
        UNION ALL
        SELECT (SELECT account FROM shards WHERE state = 'QUEUED' AND remote = $1 AND account > waiting.account
                ORDER BY account LIMIT 1)
        FROM waiting WHERE waiting.account IS NOT NULL
    )
    SELECT account,
           (SELECT count(*) FROM shards
            WHERE state = 'LEASED' AND remote = $1 AND account = waiting.account) AS held,
           turn
    FROM waiting LEFT JOIN account_turns USING (account) CROSS JOIN LATERAL (SELECT job_id FROM ",
    admitted!(),
    "    AND account = waiting.account ORDER BY job_id LIMIT 1) AS oldest
    WHERE account IS NOT NULL AND account <> ALL($3)
    ORDER BY held, turn NULLS FIRST, oldest.job_id LIMIT $9"
);

/// Locks the oldest queued shard of the account $3, except those of the jobs $9.
const NEXT: &str = concat!(
    "SELECT job_id, shard, attempt, failures, last_failure, first_episode, end_episode, status, header, policy_path,
            jobs.account, jobs.machine
     FROM (SELECT * FROM ",
    admitted!(),
    "      AND account = $3 AND job_id <> ALL($9)
           ORDER BY job_id, shard LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) AS next
     JOIN jobs USING (job_id)"
);

/// A request in the form of the statements' parameters.
struct ClaimTerms<'a> {
    entry: &'a ClaimEntry,
    is_server: bool,
    now: i64,
    excluded_accounts: Vec<&'a str>,
    /// The keys of the excluded shards.
    excluded_shards: Vec<String>,
    /// Digest and JSON of the machine's fingerprint.
    machine: Option<(String, String)>,
    machine_digest: Option<String>,
    runtimes: Option<Vec<String>>,
    memory_mib: i64,
    trust: i64,
    /// The labels, as a JSON list.
    labels: String,
}

impl<'a> ClaimTerms<'a> {
    fn new(entry: &'a ClaimEntry) -> PgResult<Self> {
        let can = &entry.request.capabilities;
        let machine = match &can.machine {
            Some(machine) => Some((machine.digest().to_string(), to_json(machine)?)),
            None => None,
        };
        let digests = |digests: &Vec<Sha256Digest>| digests.iter().map(Sha256Digest::to_string).collect();
        Ok(Self {
            entry,
            is_server: entry.request.kind == ShardKind::Server,
            now: micros(entry.now),
            excluded_accounts: entry.request.excluded_accounts.iter().map(AccountId::as_str).collect(),
            excluded_shards: entry.request.excluded_shards.iter().map(ExcludedShards::key).collect(),
            machine_digest: machine.as_ref().map(|(digest, _)| digest.clone()),
            machine,
            runtimes: can.runtimes.as_ref().map(digests),
            memory_mib: i64::from(can.memory_mib),
            trust: i64::from(can.trust.level()),
            labels: to_json(&label_texts(&can.labels))?,
        })
    }

    /// Returns the parameters of [`ACCOUNTS`] and [`NEXT`], which differ in the third and the ninth.
    fn parameters<'p>(&'p self, third: Parameter<'p>, ninth: Parameter<'p>) -> [Parameter<'p>; 11] {
        let cameras = &self.entry.request.capabilities.cameras;
        [
            &self.is_server,
            &self.now,
            third,
            &self.machine_digest,
            &self.runtimes,
            cameras,
            &self.memory_mib,
            &self.trust,
            ninth,
            &self.excluded_shards,
            &self.labels,
        ]
    }
}

/// An account with queued shards.
struct WaitingAccount {
    name: String,
    /// Number of shards of that kind that it holds.
    held: i64,
    /// Position of its last claim in the sequence of all claims.
    turn: i64,
    /// True if its turn is locked, so that no other process claims for it at this moment.
    is_locked: bool,
}

/// The accounts whose shards some requests of a transaction admit, the next one first.
struct WaitingAccounts<'a> {
    of: &'a ShardRequest,
    accounts: Vec<WaitingAccount>,
}

impl<'a> WaitingAccounts<'a> {
    async fn read(db: &PgSession, terms: &ClaimTerms<'a>) -> PgResult<Self> {
        let parameters = terms.parameters(&terms.excluded_accounts, &MAX_ACCOUNTS);
        let accounts = all(db, ACCOUNTS, &parameters, |row| {
            let turn = field::<Option<i64>>(row, "turn")?.unwrap_or_default();
            Ok(WaitingAccount { name: field(row, "account")?, held: field(row, "held")?, turn, is_locked: false })
        });
        Ok(Self { of: &terms.entry.request, accounts: accounts.await? })
    }

    /// Returns true if they are those of another request, too.
    fn serve(&self, request: &ShardRequest) -> bool {
        let ShardRequest { worker: _, kind, excluded_accounts, excluded_shards, capabilities } = self.of;
        *kind == request.kind
            && *excluded_accounts == request.excluded_accounts
            && *excluded_shards == request.excluded_shards
            && *capabilities == request.capabilities
    }

    /// Puts the account at `place` to where it belongs after its `number`th claim in this transaction.
    fn claimed(&mut self, place: usize, number: i64) {
        let mut account = self.accounts.remove(place);
        account.held += 1;
        account.turn = i64::MAX / 2 + number;
        let place = self.accounts.partition_point(|other| (other.held, other.turn) <= (account.held, account.turn));
        self.accounts.insert(place, account);
    }
}

/// Claims a shard for each request in the open transaction.
pub(super) async fn claim_all(db: PgSession, entries: &[&ClaimEntry]) -> PgResult<Vec<PickedShard>> {
    let mut picked = Vec::with_capacity(entries.len());
    let mut waiting: Option<WaitingAccounts<'_>> = None;
    for (number, entry) in (0..).zip(entries) {
        let terms = ClaimTerms::new(entry)?;
        let mut accounts = match waiting.take().filter(|waiting| waiting.serve(&entry.request)) {
            Some(known) => known,
            None => WaitingAccounts::read(&db, &terms).await?,
        };
        picked.push(claim(&db, &terms, &mut accounts, number).await?);
        waiting = Some(accounts);
    }
    Ok(picked)
}

async fn claim(
    db: &PgSession,
    terms: &ClaimTerms<'_>,
    waiting: &mut WaitingAccounts<'_>,
    number: i64,
) -> PgResult<PickedShard> {
    // First the accounts from which no other process claims at this moment, then the others.
    for takes_others in [false, true] {
        for place in 0..waiting.accounts.len() {
            let is_alone = waiting.accounts.len() == 1;
            let account = &mut waiting.accounts[place];
            if !account.is_locked {
                account.is_locked = is_alone || lock_turn(db, &account.name).await?;
            }
            if account.is_locked == takes_others {
                continue;
            }
            let name = account.name.clone();
            match claim_of(db, terms, &name).await? {
                PickedShard::Contended => {}
                PickedShard::Claimed(claim) => {
                    waiting.claimed(place, number);
                    return Ok(PickedShard::Claimed(claim));
                }
                PickedShard::Nothing => return Ok(PickedShard::Nothing),
            }
        }
    }
    Ok(if waiting.accounts.is_empty() { PickedShard::Nothing } else { PickedShard::Contended })
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
    is_pinned: bool,
}

/// Claims the oldest shard of an account.
async fn claim_of(db: &PgSession, terms: &ClaimTerms<'_>, account: &str) -> PgResult<PickedShard> {
    let mut skipped: Vec<Uuid> = Vec::new();
    while skipped.len() < MAX_JOBS {
        let next = first(db, NEXT, &terms.parameters(&account, &skipped), read).await?;
        let Some(next) = next else { return Ok(PickedShard::Contended) };
        if terms.entry.request.kind == ShardKind::Secret && !next.is_secret() {
            return Ok(PickedShard::Nothing);
        }
        if start(db, &next, terms).await? {
            return Ok(PickedShard::Claimed(Box::new(lease(db, next, terms.entry).await?)));
        }
        skipped.push(next.claim.fence.job_id.0);
    }
    Ok(PickedShard::Contended)
}

/// Moves the job to RUNNING, and pins it to the worker's machine. Returns false if another transaction is about to
/// start, pin or end it.
async fn start(db: &PgSession, next: &LockedShard, terms: &ClaimTerms<'_>) -> PgResult<bool> {
    let is_running = next.status == JobStatus::Running;
    if is_running && (next.is_pinned || terms.machine.is_none()) {
        return Ok(true);
    }
    let id = next.claim.fence.job_id.0;
    let sql =
        "UPDATE jobs SET status = 'RUNNING', started_at = coalesce(started_at, $2), machine = coalesce(machine, $3),
                               machine_fingerprint = coalesce(machine_fingerprint, $4)
               WHERE job_id = (SELECT job_id FROM jobs WHERE job_id = $1 AND status IN ('QUEUED', 'RUNNING')
                                   AND ($3::text IS NULL OR machine IS NULL OR machine = $3)
                               FOR NO KEY UPDATE SKIP LOCKED)";
    let (digest, fingerprint) = terms.machine.as_ref().map(|(digest, json)| (digest, json)).unzip();
    Ok(change(db, sql, &[&id, &terms.now, &digest, &fingerprint]).await? == 1)
}

/// Leases a shard whose row is locked and whose job is RUNNING.
async fn lease(db: &PgSession, next: LockedShard, entry: &ClaimEntry) -> PgResult<Claim> {
    let Fence { job_id: JobId(id), shard, .. } = next.claim.fence;
    let shard = i64::from(shard);
    let (until, now) = (until(entry.now, entry.lease), micros(entry.now));
    let leased = "UPDATE shards SET state = 'LEASED', attempt = attempt + 1, worker = $3, lease_until = $4, since = $5
                  WHERE job_id = $1 AND shard = $2 AND state = 'QUEUED'";
    let turned = "UPDATE account_turns SET turn = nextval('turns') WHERE account = (
                      SELECT account FROM account_turns WHERE account = $1 FOR UPDATE SKIP LOCKED)";
    let account = next.claim.account.clone();
    let (leased, turned, unfinished) = join3(
        change(db, leased, &[&id, &shard, &entry.request.worker, &until, &now]),
        change(db, turned, &[&account.as_str()]),
        with_episodes(db, next),
    )
    .await;
    expect_one(leased?, "a queued shard")?;
    turned?;
    let mut claim = unfinished?;
    claim.fence.attempt += 1;
    Ok(claim)
}

/// Completes a claim by the episodes that have no result, and the notes about them.
async fn with_episodes(db: &PgSession, LockedShard { mut claim, range, .. }: LockedShard) -> PgResult<Claim> {
    let sql = "SELECT job_id, episode FROM episodes WHERE job_id = $1 AND episode >= $2 AND episode < $3";
    let (start, end) = (i64::from(range.start), i64::from(range.end));
    let values: [Parameter<'_>; 3] = [&claim.fence.job_id.0, &start, &end];
    let (done, notes) = join(
        all(db, sql, &values, |row| number::<u32>(row, "episode")),
        attempt_notes::of(db, claim.fence.job_id, range.clone()),
    )
    .await;
    let done = done?;
    claim.notes = notes?.into_iter().filter(|note| !done.contains(&note.episode())).collect();
    claim.episodes = range.filter(|episode| !done.contains(episode)).collect();
    Ok(claim)
}

/// Returns a shard with this claim, as long as its holder holds it.
pub(super) async fn leased(db: PgSession, fence: Fence) -> PgResult<Option<Claim>> {
    let sql = "SELECT job_id, shard, attempt, failures, last_failure, first_episode, end_episode, status, header,
                      policy_path, jobs.account, jobs.machine
               FROM shards JOIN jobs USING (job_id)
               WHERE job_id = $1 AND shard = $2 AND attempt = $3 AND state = 'LEASED'";
    let (shard, attempt) = (i64::from(fence.shard), i64::from(fence.attempt));
    match first(&db, sql, &[&fence.job_id.0, &shard, &attempt], read).await? {
        Some(held) => with_episodes(&db, held).await.map(Some),
        None => Ok(None),
    }
}

/// Returns true if a result of an episode was written, and no later claim of its shard exists.
pub(super) async fn is_recorded(db: PgSession, fence: Fence, episode: u32) -> PgResult<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM episodes JOIN shards USING (job_id, shard)
                              WHERE job_id = $1 AND shard = $2 AND episode = $4 AND shards.attempt = $3)";
    let (shard, attempt) = (i64::from(fence.shard), i64::from(fence.attempt));
    value(&db, sql, &[&fence.job_id.0, &shard, &attempt, &i64::from(episode)]).await
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
    let claim = Claim {
        fence: Fence { job_id: job_id(row, "job_id")?, shard: number(row, "shard")?, attempt: number(row, "attempt")? },
        account: parsed(row, "account")?,
        header: json(row, "header")?,
        policy_path: field(row, "policy_path")?,
        episodes: Vec::new(),
        failures: number(row, "failures")?,
        last_failure: field(row, "last_failure")?,
        notes: Vec::new(),
    };
    let is_pinned = field::<Option<&str>>(row, "machine")?.is_some();
    Ok(LockedShard { claim, range, status: status(row)?, is_pinned })
}
