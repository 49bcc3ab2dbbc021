//! An object store that fails is an outage, and nothing half-stored is ever seen.

use std::error::Error;
use std::fs;
use std::time::{Duration, Instant};

use assay_testkit::{HttpFault, HttpFaultProxy};

use super::*;
use crate::ObjectStorageProblem;

/// Returns the kind of failure of the object store.
fn problem<T: std::fmt::Debug>(result: Result<T, BlobError>) -> ObjectStorageProblem {
    match result.unwrap_err() {
        BlobError::Store(error) => error.problem,
        other => panic!("not a failure of the store: {other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_and_missing_artifacts_are_different_errors() {
    let (data, server) = (tempfile::tempdir().unwrap(), S3Server::start());
    let proxy = HttpFaultProxy::start(server.address());
    let blobs = bucket(data.path(), proxy.address());
    let (file, hash) = (data.path().join("file"), Sha256Digest::of("a"));
    fs::write(&file, "evidence").unwrap();
    for (status, code) in [(500, "InternalError"), (503, "SlowDown")] {
        proxy.set(HttpFault::Answer(status, code));
        assert_eq!(problem(blobs.put(job(1), hash, &file).await), ObjectStorageProblem::Failing);
        assert_eq!(problem(blobs.size(job(1), hash).await), ObjectStorageProblem::Failing);
        assert_eq!(problem(text(&blobs, job(1), hash, 0..8).await), ObjectStorageProblem::Failing);
        assert_eq!(problem(blobs.erase(job(1)).await), ObjectStorageProblem::Failing);
    }
    assert!(proxy.faults() > 16, "requests are repeated: {}", proxy.faults());
    proxy.set(HttpFault::None);
    assert!(matches!(blobs.size(job(1), hash).await, Err(BlobError::Missing)));
    blobs.put(job(1), hash, &file).await.unwrap();
    assert_eq!(text(&blobs, job(1), hash, 0..8).await.unwrap(), "evidence");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_can_not_be_reached_is_an_outage() {
    let (data, server) = (tempfile::tempdir().unwrap(), S3Server::start());
    let address = server.address().to_owned();
    drop(server);
    let blobs = bucket(data.path(), &address);
    let error = blobs.size(job(1), Sha256Digest::of("a")).await.unwrap_err();
    let text = format!("{error}, {:?}", error.source().map(ToString::to_string));
    assert_eq!(problem::<u64>(Err(error)), ObjectStorageProblem::Unreachable);
    assert!(text.contains("AWS_ENDPOINT_URL") && text.contains("refused"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_cut_leaves_nothing() {
    let (data, server) = (tempfile::tempdir().unwrap(), S3Server::start());
    let proxy = HttpFaultProxy::start(server.address());
    let blobs = bucket(data.path(), proxy.address());
    let (file, hash) = (data.path().join("file"), Sha256Digest::of("a"));
    // One request, and one in several parts.
    for megabytes in [2, 20] {
        fs::write(&file, vec![7; megabytes << 20]).unwrap();
        proxy.set(HttpFault::Cut(1 << 20));
        problem(blobs.put(job(1), hash, &file).await);
        assert!(matches!(bucket(data.path(), server.address()).size(job(1), hash).await, Err(BlobError::Missing)));
        proxy.set(HttpFault::None);
        blobs.put(job(1), hash, &file).await.unwrap();
        assert_eq!(blobs.size(job(1), hash).await.unwrap(), (megabytes as u64) << 20);
        blobs.erase(job(1)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_store_only_takes_longer() {
    let (data, server) = (tempfile::tempdir().unwrap(), S3Server::start());
    let proxy = HttpFaultProxy::start(server.address());
    let blobs = bucket(data.path(), proxy.address());
    let (file, hash) = (data.path().join("file"), Sha256Digest::of("a"));
    fs::write(&file, vec![b'x'; 100_000]).unwrap();
    blobs.put(job(1), hash, &file).await.unwrap();
    proxy.set(HttpFault::Slow(Duration::from_millis(50)));
    let begun = Instant::now();
    assert_eq!(text(&blobs, job(1), hash, 0..100_000).await.unwrap().len(), 100_000);
    assert!(begun.elapsed() >= Duration::from_millis(300), "the proxy was slow: {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_bucket_is_not_a_missing_artifact() {
    let (data, server) = (tempfile::tempdir().unwrap(), S3Server::start());
    let proxy = HttpFaultProxy::start(server.address());
    let blobs = bucket(data.path(), proxy.address());
    proxy.set(HttpFault::Answer(404, "NoSuchBucket"));
    let (file, hash) = (data.path().join("file"), Sha256Digest::of("a"));
    fs::write(&file, "evidence").unwrap();
    assert_eq!(problem(blobs.put(job(1), hash, &file).await), ObjectStorageProblem::Bucket);
    assert_eq!(problem(blobs.size(job(1), hash).await), ObjectStorageProblem::Bucket);
    assert_eq!(problem(text(&blobs, job(1), hash, 0..8).await), ObjectStorageProblem::Bucket);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_probe_names_the_setting_to_change() {
    let server = S3Server::start();
    let proxy = HttpFaultProxy::start(server.address());
    storage(proxy.address()).probe("one").await.unwrap();
    assert_eq!(server.keys(), [] as [&str; 0], "nothing is left");
    let with = |name: &str, value: &str| {
        let mut variables = S3Server::variables(server.address());
        variables.retain(|(known, _)| known != name);
        variables.push((name.to_owned(), value.to_owned()));
        let address = format!("s3://{}", S3Server::BUCKET).parse().unwrap();
        ObjectStorage::connect(&ObjectStorageOptions { address, path_style: None, variables }).unwrap()
    };
    for (storage, expected) in [
        (with("AWS_ACCESS_KEY_ID", "somebody"), "change AWS_ACCESS_KEY_ID"),
        (with("AWS_SECRET_ACCESS_KEY", "wrong"), "change AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"),
        (with("AWS_ENDPOINT_URL", "http://127.0.0.1:1"), "check AWS_ENDPOINT_URL"),
        // Not a server of TLS.
        (with("AWS_ENDPOINT_URL", &format!("https://{}", server.address())), "check AWS_ENDPOINT_URL"),
    ] {
        let error = storage.probe("two").await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains(S3Server::SECRET_KEY), "{error}");
    }
    for (status, code, expected) in [
        (500, "InternalError", "check the store"),
        (404, "NoSuchBucket", "create the bucket, or change blobs.url"),
        (400, "AuthorizationHeaderMalformed", "set AWS_REGION"),
        (301, "PermanentRedirect", "set AWS_REGION"),
        (403, "RequestTimeTooSkewed", "set the clock"),
        (403, "AccessDenied", "permit the access key s3:ListBucket"),
    ] {
        proxy.set(HttpFault::Answer(status, code));
        let error = storage(proxy.address()).probe("three").await.unwrap_err().to_string();
        assert!(error.contains(expected), "{code}: {error}");
    }
    server.delete_bucket();
    proxy.set(HttpFault::None);
    let error = storage(proxy.address()).probe("four").await.unwrap_err().to_string();
    assert!(error.contains("create the bucket, or change blobs.url"), "{error}");
}
