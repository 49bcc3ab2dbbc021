//! Hints about the changes of other processes.

use std::time::{Duration, Instant};

use assay_store::testing::{at, job};
use assay_store::{EventRecords, JobRecords, PostgresRecords};
use assay_testkit::Postgres;

use super::{open, open_new};

/// Interval of the hints that come without a cause.
const POLL: Duration = Duration::from_secs(1);

/// Waits for a mark that follows a change through another handle; returns the time until then.
async fn hint(writer: &PostgresRecords, reader: &PostgresRecords, number: u64) -> Duration {
    let mut changes = reader.changes();
    changes.mark_unchanged();
    writer.create_job(job(number, "lab", 1, 1)).await.unwrap();
    let written = Instant::now();
    tokio::time::timeout(2 * POLL, changes.changed()).await.expect("no hint").unwrap();
    let id = job(number, "lab", 1, 1).header.job_id;
    assert!(reader.last_event(id).await.unwrap().is_some(), "what the hint is about is there");
    written.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_another_process_arrive_at_once_or_within_a_second() {
    let (url, writer) = open_new().await;
    let reader = open(&url).await;
    let mut delays = Vec::new();
    for number in 0..20 {
        delays.push(hint(&writer, &reader, number).await);
    }
    delays.sort();
    assert!(delays[10] < POLL / 4, "hints come by the poll: {delays:?}");

    // Without its listener a process still finds the changes, and listens again.
    let name = url.rsplit('/').next().unwrap();
    let cut = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{name}' AND query ~ 'LISTEN|pg_backend_pid'"
    );
    assert_ne!(Postgres::shared().sql("postgres", &cut), "0");
    assert!(hint(&writer, &reader, 30).await < 2 * POLL);
    tokio::time::sleep(2 * POLL).await;
    let mut again = Vec::new();
    for number in 40..50 {
        again.push(hint(&writer, &reader, number).await);
    }
    again.sort();
    assert!(again[5] < POLL / 4, "it does not listen again: {again:?}");
    assert!(writer.cancel_job(None, job(0, "lab", 1, 1).header.job_id, at(1)).await.is_ok());
}
