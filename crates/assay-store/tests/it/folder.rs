//! The data folder: its lock, its schema, and the state after a restart.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_store::{
    DatabaseProblem, JobRecords, KeyRecords, OpenError, RecoveryRecords, ShardRecords, ShardRequest, SqliteRecords,
    StoreError,
};
use assay_store_testing::{at, job, key};
use jiff::SignedDuration;

const LEASE: SignedDuration = SignedDuration::from_hours(1);

#[tokio::test]
async fn a_second_server_is_refused_with_the_name_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let first = SqliteRecords::open(folder.path(), "assay serve").unwrap();
    let refused = SqliteRecords::open(folder.path(), "assay serve").unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, OpenError::Locked { .. }), "{text}");
    assert!(text.contains(&format!("assay serve (process {})", std::process::id())), "{text}");
    drop(first);
    SqliteRecords::open(folder.path(), "assay serve").unwrap();
}

#[tokio::test]
async fn keys_can_be_created_while_a_server_is_running() {
    let folder = tempfile::tempdir().unwrap();
    let server = SqliteRecords::open(folder.path(), "assay serve").unwrap();
    server.create_job(job(1, "lab", 1, 1)).await.unwrap();
    let claim = server.claim_shard(&ShardRequest::new("w"), at(0), LEASE).await.unwrap().unwrap();
    let beside = SqliteRecords::open_beside(folder.path(), "assay keys").unwrap();
    beside.create_key(key("one", "lab")).await.unwrap();
    drop(beside);
    assert!(server.key(&key("one", "lab").id).await.unwrap().is_some());
    let held = server.heartbeat(claim.fence, at(1), LEASE).await.unwrap();
    assert_eq!(held, assay_store::Lease::Held, "the server's leases are left alone");
    assert!(server.reconcile(at(2)).await.unwrap().requeued.is_empty());
}

#[tokio::test]
async fn a_key_that_is_revoked_beside_a_server_is_refused_within_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let server = SqliteRecords::open(folder.path(), "assay serve").unwrap();
    let beside = SqliteRecords::open_beside(folder.path(), "assay keys").unwrap();
    for round in 0..3 {
        let new = key(&format!("k{round}"), "lab");
        beside.create_key(new.clone()).await.unwrap();
        assert!(server.key(&new.id).await.unwrap().unwrap().revoked_at.is_none());
        beside.revoke_key(&new.id, at(5)).await.unwrap();
        let revoked = Instant::now();
        loop {
            // When it asks, not when the answer has come: a slow machine changes nothing.
            let asked = revoked.elapsed();
            if server.key(&new.id).await.unwrap().unwrap().revoked_at.is_some() {
                break;
            }
            assert!(asked < Duration::from_millis(1500), "an old key is still cached");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(server.key(&new.id).await.unwrap().unwrap().revoked_at, Some(at(5)));
    }
}

#[tokio::test]
async fn a_key_that_the_server_revokes_or_rotates_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = SqliteRecords::open(folder.path(), "assay serve").unwrap();
    for round in 0..20 {
        let (old, new) = (key(&format!("k{round}a"), "lab"), key(&format!("k{round}b"), "lab"));
        server.create_key(old.clone()).await.unwrap();
        assert!(server.key(&old.id).await.unwrap().unwrap().revoked_at.is_none());
        assert!(server.rotate_key(&old.id, new.clone(), at(5)).await.unwrap());
        assert_eq!(server.key(&old.id).await.unwrap().unwrap().revoked_at, Some(at(5)));
        assert!(server.key(&new.id).await.unwrap().unwrap().revoked_at.is_none());
        assert!(server.revoke_key(&new.id, at(6)).await.unwrap());
        assert_eq!(server.key(&new.id).await.unwrap().unwrap().revoked_at, Some(at(6)));
    }
}

#[tokio::test]
async fn a_missing_folder_is_created_if_no_server_is_running() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new/data");
    SqliteRecords::open_beside(&data, "assay keys").unwrap().create_key(key("one", "lab")).await.unwrap();
    let server = SqliteRecords::open(&data, "assay serve").unwrap();
    assert!(server.has_key_ever_existed().await.unwrap());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&data.join("assay.db"))), (0o700, 0o600), "other users cannot read them");
}

#[tokio::test]
async fn a_restart_frees_all_leases_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let open = || SqliteRecords::open(folder.path(), "assay serve").unwrap();
    let records = open();
    records.create_job(job(1, "lab", 2, 2)).await.unwrap();
    let stale = records.claim_shard(&ShardRequest::new("w"), at(0), LEASE).await.unwrap().unwrap();
    drop(records);
    let records = open();
    assert_eq!(records.reconcile(at(1)).await.unwrap().requeued.len(), 1);
    let fresh = records.claim_shard(&ShardRequest::new("w"), at(1), LEASE).await.unwrap().unwrap();
    assert_eq!((fresh.fence.attempt, fresh.episodes), (stale.fence.attempt + 1, vec![0, 1]));
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(SqliteRecords::open(folder.path(), "assay serve").unwrap());
    let file = folder.path().join("assay.db");
    let db = rusqlite::Connection::open(&file).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    for refused in [SqliteRecords::open(folder.path(), "a"), SqliteRecords::open_beside(folder.path(), "b")] {
        let error = refused.unwrap_err();
        assert!(matches!(error, OpenError::NewerSchema { found: 99, .. }), "{error}");
        assert!(error.to_string().contains("use a newer assay"), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("assay.db"), "not a database, although it is long enough to be one".repeat(20))
        .unwrap();
    let error = SqliteRecords::open(folder.path(), "assay serve").unwrap_err();
    let unavailable = DatabaseProblem::Unavailable;
    assert!(
        matches!(error, OpenError::Store(StoreError::Database { problem, .. }) if problem == unavailable),
        "not reported as unusable"
    );
}

#[tokio::test]
async fn a_failed_command_does_not_affect_others_of_its_batch() {
    let folder = tempfile::tempdir().unwrap();
    let records = SqliteRecords::open(folder.path(), "assay serve").unwrap();
    records.create_job(job(0, "lab", 1, 1)).await.unwrap();
    let all = [1, 0, 2, 0, 3].map(|number| records.create_job(job(number, "lab", 3, 1)));
    let [a, b, c, d, e] = all;
    let (a, b, c, d, e) = tokio::join!(a, b, c, d, e);
    assert_eq!([a, c, e].map(Result::unwrap), [3, 3, 3]);
    for refused in [b, d] {
        assert!(matches!(refused, Err(StoreError::Exists { .. })), "{refused:?}");
    }
    assert_eq!(records.claimable(100).await.unwrap().len(), 10);
}
