//! Transactions that meet those of other programs.

use std::sync::Arc;

use assay_store::{CancelOutcome, EventPosition, EventRecords, JobRecords, RecordOutcome, ShardRecords, ShardRequest};
use assay_store_testing::{at, episode, job};
use assay_testkit::{PATIENCE, Postgres};

use super::{LEASE, connect, open_new};

/// Waits until a session of the database waits for a lock.
async fn wait_for_waiter(database: &str) {
    let sql =
        format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND wait_event_type = 'Lock'");
    let is_waiting = || (Postgres::shared().sql("postgres", &sql) != "0").then_some(());
    tokio::task::block_in_place(|| assay_testkit::wait_for("a session that waits for a lock", PATIENCE, is_waiting));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_is_repeated() {
    let (url, records) = open_new().await;
    let (records, name) = (Arc::new(records), url.rsplit('/').next().unwrap());
    let id = job(1, "lab", 1, 1).header.job_id;
    records.create_job(job(1, "lab", 1, 1)).await.unwrap();

    // Locks in the wrong order, and is patient, so that the other transaction is the victim.
    let other = connect(&url).await;
    other.batch_execute("SET deadlock_timeout = '60s'; BEGIN; SELECT 1 FROM account_use FOR UPDATE").await.unwrap();
    let cancelling = Arc::clone(&records);
    let cancelled = tokio::spawn(async move { cancelling.cancel_job(None, id, at(1)).await });
    wait_for_waiter(name).await;
    other.batch_execute("SELECT 1 FROM jobs FOR UPDATE; COMMIT").await.unwrap();
    assert_eq!(cancelled.await.unwrap().unwrap(), CancelOutcome::Done);
    // The server counts it when the connection ends.
    drop(records);
    let deadlocks = || {
        let sql = format!("SELECT deadlocks FROM pg_stat_database WHERE datname = '{name}'");
        (Postgres::shared().sql("postgres", &sql) != "0").then_some(())
    };
    tokio::task::block_in_place(|| assay_testkit::wait_for("a deadlock", PATIENCE, deadlocks));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_an_open_transaction_are_not_skipped() {
    let (url, records) = open_new().await;
    let (records, name) = (Arc::new(records), url.rsplit('/').next().unwrap());
    let (first, second) = (job(1, "lab", 3, 3).header.job_id, job(2, "lab", 1, 1).header.job_id);
    records.create_job(job(1, "lab", 3, 3)).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();

    // A transaction has written the third event of the first job and does not end.
    let other = connect(&url).await;
    other.batch_execute("BEGIN; UPDATE jobs SET episodes_done = 1").await.unwrap();
    let recording = Arc::clone(&records);
    let recorded = tokio::spawn(async move { recording.record_episode(claim.fence, episode(0), at(2)).await });
    wait_for_waiter(name).await;
    records.create_job(job(2, "other", 1, 1)).await.unwrap();
    let positions = [(first, 0), (second, 0)].map(|(job_id, after)| EventPosition { job_id, after });
    let numbers = async || {
        let events = records.events_of(&positions, 99).await.unwrap();
        events.iter().map(|event| (event.job_id, event.number)).collect::<Vec<_>>()
    };
    let before = [(first, 1), (first, 2), (second, 1)];
    assert_eq!(numbers().await, before, "a younger job is not held up, and nothing is shown too early");
    other.batch_execute("COMMIT").await.unwrap();
    assert!(matches!(recorded.await.unwrap().unwrap(), RecordOutcome::New { .. }));
    assert_eq!(numbers().await, [(first, 1), (first, 2), (first, 3), (first, 4), (second, 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_leaves_no_lock() {
    let (url, records) = open_new().await;
    let (records, name) = (Arc::new(records), url.rsplit('/').next().unwrap());
    let id = job(1, "lab", 1, 1).header.job_id;
    records.create_job(job(1, "lab", 1, 1)).await.unwrap();
    let other = connect(&url).await;
    other.batch_execute("BEGIN; SELECT 1 FROM account_use FOR UPDATE").await.unwrap();
    let cancelling = Arc::clone(&records);
    let cancelled = tokio::spawn(async move { cancelling.cancel_job(None, id, at(1)).await });
    wait_for_waiter(name).await;
    // It holds the job's row and waits for the account's.
    cancelled.abort();
    assert!(cancelled.await.unwrap_err().is_cancelled());
    other.batch_execute("ROLLBACK").await.unwrap();
    let done = tokio::time::timeout(PATIENCE, records.cancel_job(None, id, at(2))).await;
    // Whether the abandoned request still took effect depends on how far it was.
    let done = done.expect("the job is still locked").unwrap();
    assert!(matches!(done, CancelOutcome::Done | CancelOutcome::Already(_)), "{done:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_wait_for_no_lock() {
    let (url, records) = open_new().await;
    for number in 1..3 {
        records.create_job(job(number, "lab", 2, 1)).await.unwrap();
    }
    let other = connect(&url).await;
    let oldest = job(1, "lab", 2, 1).header.job_id;
    other.batch_execute(&format!("BEGIN; SELECT 1 FROM jobs WHERE job_id = '{oldest}' FOR UPDATE")).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    assert_eq!(claim.fence.job_id, job(2, "lab", 2, 1).header.job_id, "the next job is taken meanwhile");
    other.batch_execute("ROLLBACK").await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    assert_eq!(claim.fence.job_id, oldest);
}
