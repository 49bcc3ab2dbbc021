//! A full disk: the records commit as long as their reserve lasts, and everything works again when space is freed.

use std::time::{Duration, Instant};

use assay_store::{Blobs, JobFilter, JobRecords, KeyRecords, ShardRecords, ShardRequest, SqliteRecords, is_disk_full};
use assay_store_testing::{at, episode, job, key};
use assay_testkit::{PATIENCE, SmallDisk};
use jiff::SignedDuration;

const LEASE: SignedDuration = SignedDuration::from_hours(1);
const RESERVE: u64 = 16 << 20;

/// Creates jobs until one cannot be committed, at most `most`. Returns the number of committed ones.
async fn jobs(records: &SqliteRecords, from: u64, most: u64) -> u64 {
    for number in 0..most {
        if let Err(error) = records.create_job(job(from + number, "lab", 1, 1)).await {
            assert!(is_disk_full(&error) && error.is_transient(), "{error:?}");
            return number;
        }
    }
    most
}

#[test]
fn records_commit_on_a_full_disk() {
    SmallDisk::run("full::records_commit_on_a_full_disk", 48, |disk| runtime().block_on(full(disk)));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn full(disk: &SmallDisk) {
    let data = disk.path().join("data");
    let records = SqliteRecords::open(&data, "a test").unwrap();
    let blobs = Blobs::folder(&data.join("blobs")).unwrap();
    // Without a reserve nothing can be recorded, not even changes that would free space.
    let filler = disk.fill(0);
    let without = jobs(&records, 1, 100).await;
    assert!(without < 100, "a full disk took {without} jobs");
    std::fs::remove_file(&filler).unwrap();

    records.hold_reserve(RESERVE).unwrap();
    let filler = disk.fill(0);
    assert_eq!(disk.free_bytes() / 4096, 0);
    assert_eq!(jobs(&records, 101, 100).await, 100, "the reserve is not used");
    records.create_key(key("one", "lab")).await.unwrap();
    let claim = records.claim_shard(&ShardRequest::new("w"), at(0), LEASE).await.unwrap().unwrap();
    records.record_episode(claim.fence, episode(0), at(1)).await.unwrap();
    // Other files have no reserve, and their errors name the cause.
    let evidence = disk.path().join("data/evidence");
    let error = std::fs::write(&evidence, [0; 8192]).unwrap_err();
    assert!(is_disk_full(&error), "{error:?}");
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    let file = elsewhere.path().join("file");
    std::fs::write(&file, vec![7; 100_000]).unwrap();
    let kept = blobs.put(claim.fence.job_id, assay_model::Sha256Digest::of([7; 9]), &file).await;
    assert!(is_disk_full(&kept.unwrap_err()));

    // When space is freed, no action is needed, and all committed jobs exist, also after a restart.
    std::fs::remove_file(&filler).unwrap();
    blobs.put(claim.fence.job_id, assay_model::Sha256Digest::of([7; 9]), &file).await.unwrap();
    let until = Instant::now() + PATIENCE;
    while !records.holds_reserve() {
        assert!(Instant::now() < until, "the reserve is not held again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(records);
    let records = SqliteRecords::open(&data, "a test").unwrap();
    let (_, found) = records.jobs(&JobFilter::default()).await.unwrap();
    assert_eq!(found, without + 100);
}

#[test]
fn a_reserve_outlasts_a_long_log() {
    SmallDisk::run("full::a_reserve_outlasts_a_long_log", 96, |disk| runtime().block_on(long_log(disk)));
}

async fn long_log(disk: &SmallDisk) {
    const SMALL: u64 = 4 << 20;
    let data = disk.path().join("data");
    let records = SqliteRecords::open(&data, "a test").unwrap();
    records.hold_reserve(SMALL).unwrap();
    // As long as a reader uses an old state, the log can't be restarted.
    let reader = rusqlite::Connection::open(data.join("assay.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM jobs").unwrap();
    let log = || std::fs::metadata(data.join("assay.db-wal")).unwrap().len();
    let mut number = 1;
    while log() < 3 * SMALL {
        assert_eq!(jobs(&records, number, 50).await, 50);
        number += 50;
    }
    // The service does this every few seconds.
    records.hold_reserve(SMALL).unwrap();
    let filler = disk.fill(0);
    assert_eq!(jobs(&records, number, 20).await, 20, "with a log of {} bytes", log());
    assert!(log() > 3 * SMALL && filler.exists());
    drop(reader);
}
