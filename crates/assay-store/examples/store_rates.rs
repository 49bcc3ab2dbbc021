//! Measures rates of the records on PostgreSQL, as ratios within one run, for `bench/run --only store`: `store_rates
//! rates` prints JSON. `store_rates server` runs a server until the end of its input, and creates a database for each
//! line.
//!
//! The server flushes, and each flush takes at least 3 ms (`commit_delay`), as on a disk of a cloud. All jobs belong
//! to one account and one scenario, whose rows every result changes.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_store::{
    Claim, JobFilter, JobRecords, PostgresOptions, PostgresRecords, Records, ShardRecords, ShardRequest, SqliteRecords,
};
use assay_store_testing::{at, episode, job};
use assay_testkit::Postgres;
use jiff::SignedDuration;
use tokio_postgres::NoTls;
use uuid::Uuid;

/// Number of concurrent workers.
const WORKERS: usize = 16;
/// Duration of each measurement.
const MEASURED: Duration = Duration::from_secs(4);
const LEASE: SignedDuration = SignedDuration::from_hours(1);
/// Number of repetitions of a read.
const READS: u32 = 2000;
/// Number of jobs listed by a read.
const PAGE: u32 = 50;
/// Number of episodes of a job: more than a worker records within a measurement.
const EPISODES: u32 = 1_000_000;

/// The claim of SQLite in one statement, without `SKIP LOCKED`: all claimers choose the same shard.
const LITERAL_CLAIM: &str = "
    WITH RECURSIVE waiting (account) AS (
        (SELECT account FROM shards WHERE state = 'QUEUED' AND NOT remote ORDER BY account LIMIT 1)
        UNION ALL
        SELECT (SELECT account FROM shards WHERE state = 'QUEUED' AND NOT remote AND account > waiting.account
                ORDER BY account LIMIT 1)
        FROM waiting WHERE waiting.account IS NOT NULL
    ), heads AS (
        SELECT account, (SELECT job_id FROM shards WHERE state = 'QUEUED' AND NOT remote AND account = waiting.account
                         ORDER BY job_id LIMIT 1) AS job_id,
               (SELECT count(*) FROM shards WHERE state = 'LEASED' AND NOT remote AND account = waiting.account) AS held,
               (SELECT turn FROM account_turns WHERE account = waiting.account) AS turn
        FROM waiting WHERE account IS NOT NULL
    )
    SELECT job_id, (SELECT min(shard) FROM shards WHERE state = 'QUEUED' AND account = heads.account
                    AND job_id = heads.job_id) AS shard
    FROM heads ORDER BY held, turn, job_id LIMIT 1";

#[tokio::main]
async fn main() {
    let server = Postgres::start(&[("fsync", "on"), ("commit_delay", "3000"), ("commit_siblings", "0")]);
    match std::env::args().nth(1).as_deref() {
        Some("rates") => rates(&server).await,
        Some("server") => std::io::stdin().lines().for_each(|_| println!("{}", server.database())),
        _ => panic!("usage: store_rates rates|server"),
    }
}

async fn rates(server: &Postgres) {
    let folder = tempfile::tempdir().unwrap();
    let open = async |url: &str| PostgresRecords::open(&PostgresOptions::new(url), folder.path()).await.unwrap();

    let url = server.database();
    let records = Arc::new(open(&url).await);
    // A handle for each worker has nobody to share a transaction with.
    let mut alone = Vec::new();
    for _ in 0..WORKERS {
        alone.push(Arc::new(open(&url).await));
    }
    let grouped = results(&vec![Arc::clone(&records); WORKERS], 0).await;
    let single = results(&alone, 100).await;

    let url = server.database();
    let records = Arc::new(open(&url).await);
    let mut processes = Vec::new();
    for _ in 0..WORKERS {
        processes.push(Arc::new(open(&url).await));
    }
    queue(&*records).await;
    let shared = claims(&vec![Arc::clone(&records); WORKERS]).await;
    let separate = claims(&processes).await;
    let literal = literal_claims(&url).await;

    let sqlite = SqliteRecords::open(folder.path(), "a benchmark").unwrap();
    let url = server.database();
    let postgres = open(&url).await;
    let (sqlite, postgres) = (reads(&sqlite).await, reads(&postgres).await);
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let found = serde_json::json!({
        "results_per_s": { "grouped": grouped, "single": single },
        "claims_per_s": { "one process": shared, "a process each": separate, "literal port": literal },
        "get_us": { "sqlite": us(sqlite.0), "postgres": us(postgres.0) },
        "list_us": { "sqlite": us(sqlite.1), "postgres": us(postgres.1) },
    });
    println!("{found:#}");
}

/// Returns the results per second that workers record, each for a job of its own.
async fn results(handles: &[Arc<PostgresRecords>], first: u64) -> f64 {
    let mut claims = Vec::new();
    for (number, records) in (first..).zip(handles) {
        records.create_job(job(number, "lab", EPISODES, EPISODES)).await.unwrap();
        claims.push(records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap());
    }
    let begun = Instant::now();
    let workers =
        handles.iter().cloned().zip(claims).map(|(records, claim)| tokio::spawn(record(records, claim, begun)));
    let mut recorded = 0;
    for worker in workers.collect::<Vec<_>>() {
        recorded += worker.await.unwrap();
    }
    f64::from(recorded) / begun.elapsed().as_secs_f64()
}

async fn record(records: Arc<PostgresRecords>, claim: Claim, begun: Instant) -> u32 {
    let mut recorded = 0;
    while begun.elapsed() < MEASURED {
        records.record_episode(claim.fence, episode(recorded), at(2)).await.unwrap();
        recorded += 1;
    }
    recorded
}

/// Accepts enough jobs for all claims.
async fn queue(records: &dyn Records) {
    for number in 0..200 {
        records.create_job(job(number, "lab", 250, 1)).await.unwrap();
    }
}

async fn claims(handles: &[Arc<PostgresRecords>]) -> f64 {
    let begun = Instant::now();
    let claimers = handles.iter().cloned().map(|records| {
        tokio::spawn(async move {
            let mut claimed = 0;
            while begun.elapsed() < MEASURED {
                let claim = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap();
                assert!(claim.is_some(), "the queue is empty");
                claimed += 1;
            }
            claimed
        })
    });
    let mut claimed = 0;
    for claimer in claimers.collect::<Vec<_>>() {
        claimed += claimer.await.unwrap();
    }
    f64::from(claimed) / begun.elapsed().as_secs_f64()
}

/// Returns the claims per second of as many claimers that all do what SQLite's does.
async fn literal_claims(url: &str) -> f64 {
    let begun = Instant::now();
    let mut claimers = Vec::new();
    for _ in 0..WORKERS {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        claimers.push(tokio::spawn(async move {
            let next = client.prepare(LITERAL_CLAIM).await.unwrap();
            let sql =
                "UPDATE shards SET state = 'LEASED', attempt = attempt + 1, worker = 'w', lease_until = 0, since = 0
                       WHERE job_id = $1 AND shard = $2 AND state = 'QUEUED'";
            let take = client.prepare(sql).await.unwrap();
            let sql = "UPDATE account_turns SET turn = (SELECT max(turn) FROM account_turns) + 1 WHERE account = 'lab'";
            let turn = client.prepare(sql).await.unwrap();
            let sql = "UPDATE jobs SET status = 'RUNNING', started_at = coalesce(started_at, 0) WHERE job_id = $1";
            let start = client.prepare(sql).await.unwrap();
            let mut claimed = 0;
            while begun.elapsed() < MEASURED {
                client.batch_execute("BEGIN").await.unwrap();
                let row = client.query_one(&next, &[]).await.unwrap();
                let (id, shard): (Uuid, i64) = (row.get("job_id"), row.get("shard"));
                if client.execute(&take, &[&id, &shard]).await.unwrap() == 1 {
                    client.execute(&turn, &[]).await.unwrap();
                    client.execute(&start, &[&id]).await.unwrap();
                    client.batch_execute("COMMIT").await.unwrap();
                    claimed += 1;
                } else {
                    client.batch_execute("ROLLBACK").await.unwrap();
                }
            }
            claimed
        }));
    }
    let mut claimed = 0;
    for claimer in claimers {
        claimed += claimer.await.unwrap();
    }
    f64::from(claimed) / begun.elapsed().as_secs_f64()
}

/// Returns the mean time of reading a job by its id, and of listing a page of jobs.
async fn reads(records: &dyn Records) -> (Duration, Duration) {
    for number in 0..200 {
        records.create_job(job(number, "lab", 10, 5)).await.unwrap();
    }
    let id = job(100, "lab", 10, 5).header.job_id;
    let begun = Instant::now();
    for _ in 0..READS {
        assert!(records.job(None, id).await.unwrap().is_some());
    }
    let got = begun.elapsed() / READS;
    let filter = JobFilter { account: Some("lab".parse().unwrap()), limit: PAGE, ..JobFilter::default() };
    let begun = Instant::now();
    for _ in 0..READS / 10 {
        assert_eq!(records.jobs(&filter).await.unwrap().1, 200);
    }
    (got, begun.elapsed() / (READS / 10))
}
