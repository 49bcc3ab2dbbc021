//! Hints about the changes of other processes.

use std::ops::Range;
use std::time::{Duration, Instant};

use assay_store::{EventRecords, JobRecords, PostgresRecords};
use assay_store_testing::{at, job};
use assay_testkit::{PATIENCE, Postgres, wait_for};

use super::{open, open_new};

/// Interval of the hints that come without a cause.
const POLL: Duration = Duration::from_secs(1);

/// Waits for a mark that follows a change through another handle. Returns the time until then, without what a machine
/// that is slow or busy adds: a multiple of the time of the change itself.
async fn hint(writer: &PostgresRecords, reader: &PostgresRecords, number: u64) -> Duration {
    let mut changes = reader.changes();
    changes.mark_unchanged();
    let began = Instant::now();
    writer.create_job(job(number, "lab", 1, 1)).await.unwrap();
    let written = Instant::now();
    tokio::time::timeout(PATIENCE, changes.changed()).await.expect("no hint").unwrap();
    let found = written.elapsed();
    let id = job(number, "lab", 1, 1).header.job_id;
    assert!(reader.last_event(id).await.unwrap().is_some(), "what the hint is about is there");
    found.saturating_sub(5 * (written - began))
}

/// Returns the median of the times until some hints.
async fn median(writer: &PostgresRecords, reader: &PostgresRecords, numbers: Range<u64>) -> Duration {
    let mut delays = Vec::new();
    for number in numbers {
        delays.push(hint(writer, reader, number).await);
    }
    delays.sort();
    delays[delays.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_another_process_arrive_at_once_or_within_a_second() {
    let (url, writer) = open_new().await;
    let reader = open(&url).await;
    let delay = median(&writer, &reader, 0..20).await;
    assert!(delay < POLL / 4, "hints come by the poll: {delay:?}");

    // Without its listener a process still finds the changes, and listens again.
    let name = url.rsplit('/').next().unwrap();
    let cut = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}' AND query ~ 'LISTEN|pg_backend_pid'"
    );
    let found = Postgres::shared().sql("postgres", &cut);
    assert_ne!(found, "0");
    assert!(hint(&writer, &reader, 30).await < 2 * POLL);
    let listeners = cut.replace("pg_terminate_backend(pid)", "pid");
    let are_back = || (Postgres::shared().sql("postgres", &listeners) == found).then_some(());
    tokio::task::block_in_place(|| wait_for("the listeners", PATIENCE, are_back));
    let delay = median(&writer, &reader, 40..50).await;
    assert!(delay < POLL / 4, "it does not listen again: {delay:?}");
    assert!(writer.cancel_job(None, job(0, "lab", 1, 1).header.job_id, at(1)).await.is_ok());
}
