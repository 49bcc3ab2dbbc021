//! Evidence and archives in an object store.

use std::time::Duration;

use assay_api::{ApiSettings, Retention, Seconds, run_maintenance};
use assay_model::{Artifact, JobId, Sha256Digest};
use assay_store::{ArchiveFiles, Blobs, ObjectStorage, ObjectStorageOptions, ShardRequest};
use assay_store_testing::{episode, outcome};
use assay_testkit::{HttpFault, HttpFaultProxy, PATIENCE, S3Server};
use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt;
use jiff::SignedDuration;
use tower::ServiceExt;

use crate::app::{POLICY, Part, SCENARIO, TestApp, request};

const LEASE: SignedDuration = SignedDuration::from_secs(15);
/// Maximum time until maintenance has removed files.
const LIMIT: Duration = PATIENCE;
/// Takes the app's clock past that of the S3 server, and past the time in which an archive is not removed.
const LATER_S: i64 = 2_000_000_000;

/// Returns an app with its files in the bucket of the server at `address`.
fn app(address: &str, redirects: bool) -> TestApp {
    let every_s = Seconds::from(Duration::from_millis(50));
    let retention = Retention { evidence_max_mib: 1, every_s, ..Retention::default() };
    let mut app = TestApp::with(ApiSettings { retention, ..ApiSettings::default() });
    let (variables, address) = (S3Server::variables(address), "s3://evidence/lab".parse().unwrap());
    let storage = ObjectStorage::connect(&ObjectStorageOptions { address, path_style: None, variables }).unwrap();
    let folder = app.folder.path().join("bucket");
    app.state.blobs = Blobs::bucket(&folder, storage.clone(), redirects).unwrap();
    app.state.archives = ArchiveFiles::bucket(storage, &folder);
    app.router = assay_api::router(app.state.clone());
    app
}

/// A completed job with a file of evidence of this content; returns its id and the file's address.
async fn completed(app: &TestApp, key: &str, content: &[u8]) -> (String, String) {
    let created = app.verify(key, &[POLICY, SCENARIO, Part::Text("num_episodes", "1")]).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let id = created.body["job_id"].as_str().unwrap().to_owned();
    let (records, now) = (&app.state.records, app.state.clock.now());
    let claim = records.claim_shard(&ShardRequest::new("w"), now, LEASE).await.unwrap().unwrap();
    let mut result = episode(0);
    let (file, sha256) = (app.folder.path().join("log.mcap"), Sha256Digest::of(content));
    std::fs::write(&file, content).unwrap();
    app.state.blobs.put(claim.fence.job_id, sha256, &file).await.unwrap();
    let name = "episodes/000/log.mcap".to_owned();
    result.evidence.push(Artifact { name, sha256, size_bytes: content.len() as u64 });
    records.record_episode(claim.fence, result, now).await.unwrap();
    let taken = records.claim_conclusion("w", now, LEASE).await.unwrap().unwrap();
    let found = outcome(&taken.header, &taken.episodes);
    assert!(records.complete_job(taken.fence, found, assay_store_testing::signed(), now).await.unwrap());
    let job = app.get(&format!("/verify/{id}"), key).await.body;
    let files = job["episode_details"][0]["evidence"].as_array().unwrap();
    let file = files.iter().find(|file| file["sha256"] == sha256.to_string()).unwrap();
    (id, file["url"].as_str().unwrap().to_owned())
}

/// Requests a path with this header; returns status, location and body.
async fn fetch(app: &TestApp, path: &str, (name, value): (&str, &str)) -> (StatusCode, String, Vec<u8>) {
    let request = request("GET", path, "").header(name, value);
    let response = app.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let location = response.headers().get("location").map(|place| place.to_str().unwrap().to_owned());
    let status = response.status();
    (status, location.unwrap_or_default(), response.into_body().collect().await.unwrap().to_bytes().to_vec())
}

/// Runs maintenance until `is_done`.
async fn maintain(app: &TestApp, what: &str, is_done: impl Fn() -> bool) {
    let wait = async {
        while !is_done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let limit = tokio::time::timeout(LIMIT, wait);
    run_maintenance(app.state.clone(), async { limit.await.expect(what) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_is_streamed_or_fetched_from_the_bucket() {
    let (server, content) = (S3Server::start(), b"a log that is not packed");
    for redirects in [false, true] {
        let app = app(server.address(), redirects);
        let key = app.key("lab", "verify,read").await;
        let (_, url) = completed(&app, &key, content).await;
        let (status, location, body) = fetch(&app, &url, ("range", "bytes=2-4")).await;
        if redirects {
            assert_eq!(status, StatusCode::TEMPORARY_REDIRECT);
            assert!(location.starts_with(&format!("http://{}/evidence/lab/jobs/", server.address())), "{location}");
            assert!(!location.contains(S3Server::SECRET_KEY));
            assert_eq!(S3Server::download(&location).as_deref(), Some(&content[..]));
            assert_eq!(S3Server::download(&location.replace("lab/jobs", "lab/other")), None, "it covers its path");
        } else {
            assert_eq!((status, body.as_slice()), (StatusCode::PARTIAL_CONTENT, &content[2..5]));
        }
        // A page of the service can load only from the service, and a key is only for the service.
        for header in [("sec-fetch-site", "same-origin"), ("authorization", "Bearer x")] {
            let (status, _, body) = fetch(&app, &url, header).await;
            assert_eq!((status, body.as_slice()), (StatusCode::OK, &content[..]), "{header:?}");
        }
        // Only the service can unpack.
        let json = format!("[{}]", "0.25, ".repeat(2000));
        let (_, url) = completed(&app, &key, json.as_bytes()).await;
        let (status, _, body) = fetch(&app, &url, ("range", "bytes=7-18")).await;
        assert_eq!((status, body.as_slice()), (StatusCode::PARTIAL_CONTENT, &json.as_bytes()[7..19]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_fails_is_temporary_for_clients() {
    let server = S3Server::start();
    let proxy = HttpFaultProxy::start(server.address());
    let app = app(proxy.address(), false);
    let key = app.key("lab", "verify,read").await;
    let (_, url) = completed(&app, &key, b"a log").await;
    proxy.set(HttpFault::Answer(503, "SlowDown"));
    for answer in [app.get(&url, "").await, app.verify(&key, &[POLICY, SCENARIO]).await] {
        assert_eq!((answer.status.as_u16(), answer.code()), (503, "UNAVAILABLE"));
        assert_eq!(answer.headers["retry-after"], "2");
        assert!(answer.message().contains("temporarily unavailable"), "{}", answer.message());
    }
    proxy.set(HttpFault::None);
    assert_eq!(app.get(&url, "").await.status, 200);
    assert_eq!(app.verify(&key, &[POLICY, SCENARIO]).await.status, 201, "nothing of the first try is in the way");
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_files_leave_the_bucket() {
    let server = S3Server::start();
    let app = app(server.address(), false);
    let key = app.key("lab", "verify,read").await;
    let ((one, _), (two, _)) = (completed(&app, &key, b"one").await, completed(&app, &key, b"two").await);
    let erase = async |id: &str| {
        let request = request("DELETE", &format!("/verify/{id}"), &key).body(Body::empty()).unwrap();
        assert_eq!(app.send(request).await.status, 204);
    };
    let keys = |part: &str| server.keys().iter().filter(|key| key.contains(part)).count();
    assert_eq!((keys(&one), keys(&two), keys("policies")), (1, 1, 1));
    erase(&one).await;
    assert_eq!((keys(&one), keys(&two), keys("policies")), (0, 1, 1));
    // Until a while after its upload, another server may be accepting a job with the archive.
    erase(&two).await;
    assert_eq!((keys(&two), keys("policies")), (0, 1));
    app.clock.forward(LATER_S);
    maintain(&app, "an archive that is gone", || keys("policies") == 0).await;
    assert_eq!(server.keys(), [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_over_the_size_limit_leaves_the_bucket() {
    let server = S3Server::start();
    let app = app(server.address(), false);
    let key = app.key("lab", "verify,read").await;
    let mut jobs = Vec::new();
    for number in 0..3_u8 {
        app.clock.forward(10);
        jobs.push(completed(&app, &key, &vec![number; 500 << 10]).await.0);
    }
    let removed = async |id: &str| {
        let id: JobId = id.parse().unwrap();
        app.state.records.job(None, id).await.unwrap().unwrap().removed.evidence_at.is_some()
    };
    let keys = |id: &str| server.keys().iter().filter(|key| key.contains(id)).count();
    maintain(&app, "the oldest evidence that is gone", || keys(&jobs[0]) == 0).await;
    assert!(removed(&jobs[0]).await);
    for id in &jobs[1..] {
        assert_eq!((removed(id).await, keys(id)), (false, 1));
    }
}
