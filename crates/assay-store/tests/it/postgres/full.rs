//! A full disk of the server.

use std::time::{Duration, Instant};

use assay_store::{
    DatabaseProblem, JobRecords, PostgresOpenError, PostgresOptions, PostgresRecords, StoreError, is_disk_full,
};
use assay_store_testing::job;
use assay_testkit::{PATIENCE, Postgres, SmallDisk};

use super::folder;

/// Size of the disk: a new server takes about 60 MiB.
const DISK_MIB: u32 = 160;
/// Free space that is left, in bytes: enough for the log, whose files exist already, and not for many rows.
const LEFT_BYTES: u64 = 300 << 10;
/// Maximum number of jobs that fit into it.
const MAX_JOBS: u64 = 20_000;

#[test]
fn a_full_disk_of_the_server_is_reported_and_recovers() {
    SmallDisk::run("postgres::full::a_full_disk_of_the_server_is_reported_and_recovers", DISK_MIB, |disk| {
        let server = Postgres::start_in(disk.path(), &[("fsync", "off"), ("autovacuum", "off")]);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(fill(disk, &server));
    });
}

async fn fill(disk: &SmallDisk, server: &Postgres) {
    let (options, other) = (PostgresOptions::new(server.database()), PostgresOptions::new(server.database()));
    let records = PostgresRecords::open(&options, folder()).await.unwrap();
    // The first connection to a database writes a file.
    server.sql("test1", "SELECT 1");
    records.create_job(job(0, "lab", 1, 1)).await.unwrap();
    let filler = disk.fill(LEFT_BYTES);
    let mut accepted = 1;
    let error = loop {
        match records.create_job(job(accepted, "lab", 1, 1)).await {
            Ok(_) => accepted += 1,
            Err(error) => break error,
        }
        assert!(accepted < MAX_JOBS, "the disk does not become full");
    };
    let problem = matches!(&error, StoreError::Database { problem: DatabaseProblem::DiskFull, .. });
    assert!(problem && error.is_outage() && error.is_transient() && is_disk_full(&error), "{error:?}");
    assert_eq!(records.counts().await.unwrap().queued, accepted, "what was acknowledged can be read");
    let refused = PostgresRecords::open(&other, folder()).await.unwrap_err();
    assert!(matches!(refused, PostgresOpenError::DiskFull { .. }), "{refused:?}");
    assert!(refused.to_string().contains("store.url"), "{refused}");

    std::fs::remove_file(filler).unwrap();
    let freed = Instant::now();
    while let Err(error) = records.create_job(job(accepted, "lab", 1, 1)).await {
        assert!(freed.elapsed() < PATIENCE, "there is space, and still: {error:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(records.counts().await.unwrap().queued, accepted + 1);
    PostgresRecords::open(&other, folder()).await.unwrap();
}
