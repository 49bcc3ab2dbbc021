//! The backends against the conformance suites.

use assay_store::{LocalQueue, PostgresOptions, PostgresRecords, SqliteRecords};
use assay_testkit::{PATIENCE, Postgres, wait_for};

#[tokio::test]
async fn sqlite_records_conform() {
    let folder = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    // All cases are one future.
    Box::pin(assay_store_testing::records(async || {
        number.set(number.get() + 1);
        SqliteRecords::open(&folder.path().join(number.get().to_string()), "a test").unwrap()
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_records_conform() {
    let folder = tempfile::tempdir().unwrap();
    Box::pin(assay_store_testing::records(async || {
        let options = PostgresOptions::new(Postgres::shared().database());
        PostgresRecords::open(&options, folder.path()).await.unwrap()
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_records_conform_when_shared() {
    let folder = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    Box::pin(assay_store_testing::shared_store(async || {
        number.set(number.get() + 1);
        let folder = folder.path().join(number.get().to_string());
        let server = SqliteRecords::open(&folder, "a server").unwrap();
        [server, SqliteRecords::open_beside(&folder, "beside it").unwrap()]
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_records_conform_when_shared() {
    let folder = tempfile::tempdir().unwrap();
    // Its own server, whose connections it waits for.
    let server = Postgres::start_shared();
    Box::pin(assay_store_testing::shared_store(async || {
        let options = PostgresOptions::new(server.database());
        let open = async || PostgresRecords::open(&options, folder.path()).await.unwrap();
        [open().await, open().await]
    }))
    .await;
    // Transactions that lock in different orders would be repeated, and only be slow. The counters are published when
    // connections end.
    let sql = "SELECT sum(deadlocks) FROM pg_stat_database WHERE NOT EXISTS (
                   SELECT 1 FROM pg_stat_activity WHERE application_name = 'assay' AND datname LIKE 'test%')";
    let deadlocks = || Some(server.sql("postgres", sql)).filter(|counted| !counted.is_empty());
    assert_eq!(wait_for("the end of all connections", PATIENCE, deadlocks), "0", "deadlocks");
}

#[tokio::test]
async fn the_local_queue_conforms() {
    assay_store_testing::queue(async || LocalQueue::new()).await;
}
