//! Archives of policies, in the data folder and in an object store.

use std::fs;
use std::io::Write;

use assay_model::{Clock, SystemClock};
use assay_testkit::{HttpFault, HttpFaultProxy};
use jiff::SignedDuration;
use tempfile::NamedTempFile;

use super::*;
use crate::{ARCHIVE_SETTLE_TIME, ArchiveFileError, ArchiveFiles, ArchiveRemovalOutcome};

fn archive(content: &str) -> (NamedTempFile, Sha256Digest) {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    (file, Sha256Digest::of(content))
}

async fn store_and_remove(archives: &ArchiveFiles) {
    let content = "an archive".repeat(1000);
    let mut paths = Vec::new();
    for _ in 0..2 {
        let (file, sha256) = archive(&content);
        paths.push(archives.put(file, sha256).await.unwrap());
    }
    let path = &paths[0];
    assert_eq!(*path, ArchiveFiles::path_of(Sha256Digest::of(&content)));
    assert_eq!(archives.list().await.unwrap(), std::slice::from_ref(path));
    let opened = archives.open(path).await.unwrap();
    assert_eq!(fs::read_to_string(opened.path()).unwrap(), content);
    let later = SystemClock.now() + ARCHIVE_SETTLE_TIME + SignedDuration::from_secs(10);
    for _ in 0..2 {
        assert_eq!(archives.remove(path, later).await.unwrap(), ArchiveRemovalOutcome::Removed);
    }
    assert_eq!(archives.list().await.unwrap(), [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_are_kept_in_the_data_folder() {
    let data = tempfile::tempdir().unwrap();
    fs::create_dir(data.path().join(ArchiveFiles::FOLDER)).unwrap();
    let archives = ArchiveFiles::folder(data.path());
    store_and_remove(&archives).await;
    let (file, sha256) = archive("x");
    let path = archives.put(file, sha256).await.unwrap();
    assert_eq!(archives.open(&path).await.unwrap().path(), data.path().join(path));
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_are_kept_in_an_object_store() {
    let (copies, server) = (tempfile::tempdir().unwrap(), S3Server::start());
    let proxy = HttpFaultProxy::start(server.address());
    let archives = ArchiveFiles::bucket(storage(proxy.address()), copies.path());
    store_and_remove(&archives).await;
    let count = || fs::read_dir(copies.path()).unwrap().count();
    assert_eq!(count(), 0, "the copy is deleted with its last user");

    let (file, sha256) = archive("x");
    let path = archives.put(file, sha256).await.unwrap();
    assert_eq!(server.keys(), [format!("lab/{path}")]);
    let first = archives.open(&path).await.unwrap();
    assert_eq!(archives.open(&path).await.unwrap().path(), first.path(), "a copy is shared");
    assert_eq!(count(), 1);
    let unsettled = archives.remove(&path, SystemClock.now()).await.unwrap();
    assert_eq!(unsettled, ArchiveRemovalOutcome::Unsettled, "another server may be accepting a job with it");
    assert!(archives.open(&path).await.is_ok());

    fs::write(server.file(&format!("lab/{path}")), "other content").unwrap();
    let fresh = ArchiveFiles::bucket(storage(proxy.address()), copies.path());
    assert!(matches!(fresh.open(&path).await, Err(ArchiveFileError::Damaged)));
    let missing = ArchiveFiles::path_of(Sha256Digest::of("missing"));
    assert!(matches!(fresh.open(&missing).await, Err(ArchiveFileError::Missing)));
    assert!(matches!(fresh.open("policies/../secret").await, Err(ArchiveFileError::Missing)));
    proxy.set(HttpFault::Answer(404, "NoSuchBucket"));
    assert!(matches!(fresh.open(&missing).await, Err(ArchiveFileError::Store(_))));
}
