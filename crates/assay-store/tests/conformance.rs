//! The embedded backends against the conformance suites.
#![expect(clippy::unwrap_used, reason = "tests")]

use assay_store::{LocalQueue, SqliteRecords, testing};

#[tokio::test]
async fn sqlite_records_conform() {
    let folder = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    // All cases are one future.
    Box::pin(testing::records(async || {
        number.set(number.get() + 1);
        SqliteRecords::open(&folder.path().join(number.get().to_string()), "a test").unwrap()
    }))
    .await;
}

#[tokio::test]
async fn the_local_queue_conforms() {
    testing::queue(async || LocalQueue::new()).await;
}
