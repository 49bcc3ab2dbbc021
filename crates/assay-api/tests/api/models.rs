//! Models: announced, received in pieces, used by policies, removed.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use assay_api::{
    AccountLimits, ApiSettings, DiskLimits, ModelSettings, RateLimits, Retention, Uploads, run_maintenance,
};
use assay_model::Sha256Digest;
use assay_testkit::{PATIENCE, SmallDisk};
use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::app::{Answer, Part, SCENARIO, TestApp, archive_with_model, request};

/// Smallest piece in these tests.
const CHUNK: usize = 1000;

pub(crate) fn settings() -> ApiSettings {
    let models = ModelSettings { min_chunk_bytes: CHUNK as u64, ..ModelSettings::default() };
    let retention = Retention { every_s: Duration::from_millis(100).into(), ..Retention::default() };
    ApiSettings { models, retention, ..ApiSettings::default() }
}

pub(crate) fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| u8::try_from(index % 251).unwrap()).collect()
}

async fn announce(app: &TestApp, key: &str, content: &[u8]) -> Answer {
    let body = json!({ "sha256": Sha256Digest::of(content), "size_bytes": content.len(), "name": "net.onnx" });
    app.post_json("/models", key, &body).await
}

/// Announces a model, and returns the path of its upload.
pub(crate) async fn announced(app: &TestApp, key: &str, content: &[u8]) -> String {
    let answer = announce(app, key, content).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let path = format!("/models/{}", answer.body["upload_id"].as_str().unwrap());
    assert_eq!(answer.headers["location"], path.as_str());
    path
}

async fn append(app: &TestApp, key: &str, path: &str, offset: usize, body: impl Into<Body>) -> Answer {
    let request = request("PATCH", path, key).header("content-type", "application/octet-stream");
    app.send(request.header("upload-offset", offset).body(body.into()).unwrap()).await
}

/// Uploads a model in one piece.
pub(crate) async fn uploaded(app: &TestApp, key: &str, content: &[u8]) -> Sha256Digest {
    let path = announced(app, key, content).await;
    let answer = append(app, key, &path, 0, content.to_vec()).await;
    assert_eq!((answer.status.as_u16(), &answer.body["state"]), (200, &json!("READY")), "{}", answer.body);
    Sha256Digest::of(content)
}

async fn delete(app: &TestApp, key: &str, id: impl std::fmt::Display) -> Answer {
    app.send(request("DELETE", &format!("/models/{id}"), key).body(Body::empty()).unwrap()).await
}

/// Verifies a policy that declares a model.
pub(crate) async fn verify(app: &TestApp, key: &str, sha256: Sha256Digest, size_bytes: Option<u64>) -> Answer {
    let archive = archive_with_model(sha256, size_bytes);
    app.verify(key, &[Part::File("policy", "x.zip", &archive), SCENARIO]).await
}

/// Returns the names of all files of models.
fn files(app: &TestApp) -> Vec<String> {
    let accounts = std::fs::read_dir(app.folder.path().join("models")).unwrap();
    let names = accounts.flat_map(|account| std::fs::read_dir(account.unwrap().path()).unwrap());
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Runs maintenance until `done`.
async fn maintain(app: &TestApp, what: &str, done: impl AsyncFn() -> bool) {
    let wait = async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let limit = tokio::time::timeout(PATIENCE, wait);
    run_maintenance(app.state.clone(), async { limit.await.expect(what) }).await;
}

fn error(answer: &Answer) -> (u16, &str) {
    (answer.status.as_u16(), answer.code())
}

#[tokio::test]
async fn a_model_is_uploaded_in_pieces_and_deleted() {
    let app = TestApp::with(settings());
    let key = app.key("lab", "verify,read").await;
    let bytes = content(2500);
    let sha256 = Sha256Digest::of(&bytes);
    let path = announced(&app, &key, &bytes).await;
    for (offset, end) in [(0, 1000), (1000, 2000), (2000, 2500)] {
        let seen = app.get(&path, &key).await;
        assert_eq!((&seen.body["state"], &seen.body["offset"]), (&json!("UPLOADING"), &json!(offset)));
        assert_eq!(seen.headers["upload-offset"], offset.to_string().as_str());
        let again = announce(&app, &key, &bytes).await;
        assert_eq!((again.status.as_u16(), &again.body), (200, &seen.body), "an announcement can be repeated");
        let answer = append(&app, &key, &path, offset, bytes[offset..end].to_vec()).await;
        assert_eq!((answer.status.as_u16(), &answer.body["offset"]), (200, &json!(end)), "{}", answer.body);
    }
    assert_eq!(files(&app), [sha256.to_string()]);
    let stored = std::fs::read(app.folder.path().join("models/lab").join(sha256.to_string())).unwrap();
    assert!(stored == bytes);
    let model = app.get(&format!("/models/{sha256}"), &key).await.body;
    assert_eq!(
        (&model["state"], &model["expires_at"], &model["name"]),
        (&json!("READY"), &Value::Null, &json!("net.onnx"))
    );
    assert_eq!(app.get(&path, &key).await.body, model, "the id of the upload names it still");
    assert_eq!(announce(&app, &key, &bytes).await.status, 200, "the account has it");
    assert_eq!(error(&append(&app, &key, &path, 2500, "").await), (409, "CONFLICT"));
    let second = uploaded(&app, &key, b"second").await;
    let list = app.get("/models?limit=1", &key).await.body;
    assert_eq!((&list["total"], &list["limit"], list["models"].as_array().unwrap().len()), (&json!(2), &json!(1), 1));
    for id in [sha256, second] {
        assert_eq!(delete(&app, &key, id).await.status, 204);
        assert_eq!(error(&delete(&app, &key, id).await), (404, "NOT_FOUND"));
    }
    assert_eq!((files(&app).len(), &app.get("/models", &key).await.body["total"]), (0, &json!(0)));
}

#[tokio::test]
async fn pieces_that_do_not_fit_are_refused() {
    let app = TestApp::with(settings());
    let key = app.key("lab", "submit,read").await;
    let bytes = content(2500);
    let path = announced(&app, &key, &bytes).await;
    let part = |end: usize| bytes[..end].to_vec();
    for (offset, body, status, message) in [
        (0, part(999), 400, "at least 1000 bytes"),
        (0, Vec::new(), 400, "at least 1000 bytes"),
        (0, [part(2500), vec![0]].concat(), 400, "only 2500 of 2500 bytes are left, but the body has 2501"),
        (1, part(1000), 409, "continue at this offset"),
    ] {
        let answer = append(&app, &key, &path, offset, body).await;
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        assert!(answer.message().contains(message), "{}", answer.message());
    }
    let unsized_body =
        Body::from_stream(futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from(part(2500)))]));
    let answer = append(&app, &key, &path, 0, unsized_body).await;
    assert_eq!(
        (error(&answer), &answer.body["error"]["details"]["field"]),
        ((400, "VALIDATION_ERROR"), &json!("Content-Length"))
    );
    for (offset, kind, status) in [("x", "application/octet-stream", 400), ("0", "text/plain", 415)] {
        let request = request("PATCH", &path, &key).header("content-type", kind).header("upload-offset", offset);
        assert_eq!(app.send(request.body(Body::from(part(1000))).unwrap()).await.status, status);
    }
    assert_eq!(append(&app, &key, "/models/nothing", 0, part(1000)).await.status, 404);
    assert_eq!(app.get(&path, &key).await.body["offset"], 0);
    assert_eq!(append(&app, &key, &path, 0, part(1500)).await.status, 200);
    let wrong = append(&app, &key, &path, 0, part(1000)).await;
    assert_eq!((error(&wrong), &wrong.headers["upload-offset"]), ((409, "CONFLICT"), &"1500".parse().unwrap()));
    assert_eq!(append(&app, &key, &path, 1500, bytes[1500..].to_vec()).await.body["state"], "READY");

    let announce = async |body: Value| app.post_json("/models", &key, &body).await;
    let digest = Sha256Digest::of("x");
    for (body, status) in [
        (json!({ "sha256": digest, "size_bytes": 0 }), 400),
        (json!({ "sha256": "ab", "size_bytes": 7 }), 400),
        (json!({ "sha256": digest }), 400),
        (json!({ "sha256": digest, "size_bytes": 7, "url": "https://example.org" }), 400),
        (json!({ "sha256": digest, "size_bytes": (4_u64 << 30) + 1 }), 400),
        (json!({ "sha256": Sha256Digest::of(&bytes), "size_bytes": 7 }), 409),
    ] {
        assert_eq!(announce(body.clone()).await.status, status, "{body}");
    }
}

#[tokio::test]
async fn a_file_with_another_digest_is_removed() {
    let app = TestApp::with(settings());
    let key = app.key("lab", "verify,read").await;
    let path = announced(&app, &key, &content(2500)).await;
    assert_eq!(append(&app, &key, &path, 0, content(1000)).await.status, 200);
    let answer = append(&app, &key, &path, 1000, vec![0; 1500]).await;
    assert_eq!(error(&answer), (422, "UNPROCESSABLE"), "{}", answer.body);
    assert!(answer.message().contains("was announced; the upload is removed"), "{}", answer.message());
    assert_eq!((app.get(&path, &key).await.status.as_u16(), files(&app).len()), (404, 0));
    uploaded(&app, &key, &content(2500)).await;
}

#[tokio::test]
async fn a_digest_grants_nothing_to_another_account() {
    let app = TestApp::with(settings());
    let (lab, other) = (app.key("lab", "verify,submit,read").await, app.key("other", "verify,submit,read,admin").await);
    let bytes = content(2500);
    let sha256 = uploaded(&app, &lab, &bytes).await;
    let (unknown, path) = (Sha256Digest::of("nothing"), announced(&app, &lab, b"unfinished").await);
    let without_ids = |answer: Answer, digest: Sha256Digest| {
        let mut error = answer.body["error"].clone();
        error["request_id"] = Value::Null;
        (answer.status.as_u16(), error.to_string().replace(&digest.to_string(), "DIGEST"))
    };
    for id in [sha256, unknown] {
        assert_eq!(app.get(&format!("/models/{id}"), &other).await.status, 404);
        assert_eq!(delete(&app, &other, id).await.status, 404);
    }
    assert_eq!(
        (app.get(&path, &other).await.status, delete(&app, &other, &path[8..]).await.status),
        (404.try_into().unwrap(), 404.try_into().unwrap())
    );
    assert_eq!(append(&app, &other, &path, 0, "unfinished").await.status, 404);
    assert_eq!(app.get("/models", &other).await.body["total"], 0);
    let foreign = without_ids(verify(&app, &other, sha256, None).await, sha256);
    assert_eq!(foreign.0, 422, "{}", foreign.1);
    assert_eq!(foreign, without_ids(verify(&app, &other, unknown, None).await, unknown), "the same for both");
    let archive = archive_with_model(sha256, None);
    let submit = [Part::File("policy", "x.zip", &archive), Part::Text("scenario_id", "cartpole_keepin")];
    assert_eq!(error(&app.submit(&other, &submit).await), (422, "UNPROCESSABLE"));
    assert_eq!(std::fs::read_dir(app.folder.path().join("policies")).unwrap().count(), 0, "no archive is left");
    // The other account uploads it itself, from the first byte.
    assert_eq!(announce(&app, &other, &bytes).await.status, 201);
    assert_eq!(verify(&app, &lab, sha256, None).await.status, 201);
    assert_eq!(verify(&app, &lab, sha256, Some(2500)).await.status, 201);
    let answer = verify(&app, &lab, sha256, Some(2501)).await;
    assert_eq!(error(&answer), (422, "UNPROCESSABLE"));
    assert!(answer.message().contains("declares 2501 bytes for nets/m.onnx"), "{}", answer.message());
}

#[tokio::test]
async fn a_model_stays_as_long_as_a_job_needs_it() {
    let app = TestApp::with(settings());
    let key = app.key("lab", "verify,submit,read").await;
    let sha256 = uploaded(&app, &key, &content(10)).await;
    let job = verify(&app, &key, sha256, None).await.body;
    assert_eq!(job["models"], json!([{ "path": "nets/m.onnx", "sha256": sha256, "size_bytes": null }]));
    let id = job["job_id"].as_str().unwrap();
    let refused = delete(&app, &key, sha256).await;
    assert_eq!(error(&refused), (409, "CONFLICT"));
    assert!(refused.message().contains(id), "{}", refused.message());
    assert_eq!(app.post(&format!("/verify/{id}/cancel"), &key).await.status, 200);
    // A submission of an open season may be run again.
    let archive = archive_with_model(sha256, None);
    let submit = [Part::File("policy", "x.zip", &archive), Part::Text("scenario_id", "cartpole_keepin")];
    let submission = app.submit(&key, &submit).await.body["submission_id"].as_str().unwrap().to_owned();
    app.work(assay_store_testing::episode).await;
    app.publish();
    let key = app.key("lab", "verify,submit,read").await;
    assert!(delete(&app, &key, sha256).await.message().contains(&submission));
    app.close_season().await;
    assert_eq!(delete(&app, &key, sha256).await.status, 204);
    assert_eq!(files(&app).len(), 0);
    assert_eq!(verify(&app, &key, sha256, None).await.status, 422);
}

#[tokio::test]
async fn quotas_count_from_the_announcement() {
    let account = AccountLimits { models: 2, models_mib: 1, ..AccountLimits::default() };
    let app = TestApp::with(ApiSettings { account, ..settings() });
    let key = app.key("lab", "verify,read").await;
    let large = content((1 << 20) - 100);
    let path = announced(&app, &key, &large).await;
    let refused = announce(&app, &key, &content(101)).await;
    let details = &refused.body["error"]["details"];
    assert_eq!((error(&refused), &details["limit"]), ((429, "RATE_LIMITED"), &json!("model_bytes")));
    assert_eq!(announce(&app, &key, &content(50)).await.status, 201);
    let refused = announce(&app, &key, &content(49)).await;
    assert_eq!(refused.body["error"]["details"]["limit"], "models");
    let other = app.key("other", "verify").await;
    assert_eq!(announce(&app, &other, &content(101)).await.status, 201);
    assert_eq!(delete(&app, &key, &path[8..]).await.status, 204);
    assert_eq!(announce(&app, &key, &content(101)).await.status, 201, "it is free again");

    let full = ApiSettings { disk: DiskLimits { min_free_mib: 1 << 40, ..DiskLimits::default() }, ..settings() };
    let app = TestApp::with(full);
    let key = app.key("lab", "verify,read").await;
    let refused = announce(&app, &key, &content(10)).await;
    assert_eq!((error(&refused), &refused.headers["retry-after"]), ((503, "UNAVAILABLE"), &"60".parse().unwrap()));
}

#[tokio::test]
async fn changes_of_models_have_a_scope_and_a_rate_of_their_own() {
    let rate = RateLimits { models_per_minute: 2, ..RateLimits::all(1000) };
    let app = TestApp::limited(ApiSettings { rate, ..settings() });
    let (reader, key) = (app.key("lab", "read,publish,review").await, app.key("lab", "submit").await);
    for (method, path) in [("POST", "/models"), ("DELETE", "/models/x")] {
        let refused = app.send(request(method, path, &reader).body(Body::empty()).unwrap()).await;
        assert_eq!(
            (error(&refused), refused.message()),
            ((403, "FORBIDDEN"), "the key needs the scope verify or submit")
        );
    }
    let path = announced(&app, &key, &content(10)).await;
    assert_eq!(append(&app, &key, &path, 0, content(10)).await.status, 200);
    let refused = announce(&app, &key, &content(11)).await;
    assert_eq!(refused.body["error"]["details"]["limit"], "models_per_minute");
    assert_eq!(app.get("/models", &reader).await.status, 200);
}

/// A body of known length whose bytes come when the test sends them.
struct SlowBody {
    receiver: UnboundedReceiver<Bytes>,
    length: u64,
}

impl http_body::Body for SlowBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let broken = || Some(Err(std::io::Error::other("the connection broke")));
        self.receiver.poll_recv(cx).map(|bytes| bytes.map_or_else(broken, |bytes| Some(Ok(Frame::data(bytes)))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

fn slow_body(length: usize) -> (UnboundedSender<Bytes>, Body) {
    let (sender, receiver) = unbounded_channel();
    (sender, Body::new(SlowBody { receiver, length: length as u64 }))
}

async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let condition = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, condition).await.unwrap_or_else(|_| panic!("waited too long for {what}"));
}

#[tokio::test]
async fn an_upload_has_one_writer_and_keeps_what_arrived() {
    let app = Arc::new(TestApp::with(settings()));
    let key = app.key("lab", "verify,read").await;
    let bytes = content(3000);
    let path = announced(&app, &key, &bytes).await;
    let (sender, body) = slow_body(3000);
    let writing = {
        let (app, key, path) = (Arc::clone(&app), key.clone(), path.clone());
        tokio::spawn(async move { append(&app, &key, &path, 0, body).await })
    };
    sender.send(Bytes::from(bytes[..1700].to_vec())).unwrap();
    let others = async || append(&app, &key, &path, 0, bytes.clone()).await;
    until("a writer", async || !files(&app).is_empty()).await;
    for _ in 0..3 {
        let refused = others().await;
        assert_eq!(error(&refused), (409, "CONFLICT"));
        assert!(refused.message().contains("another request is writing"), "{}", refused.message());
    }
    assert_eq!(error(&delete(&app, &key, &path[8..]).await), (409, "CONFLICT"));
    // The client goes away: its handler is cancelled, and what arrived counts.
    writing.abort();
    drop(sender);
    until("the end of the writer", async || app.get(&path, &key).await.body["offset"] == 1700).await;
    let again = append(&app, &key, &path, 1700, bytes[1700..].to_vec()).await;
    assert_eq!((again.status.as_u16(), &again.body["state"]), (200, &json!("READY")), "{}", again.body);
}

#[tokio::test]
async fn of_simultaneous_pieces_one_is_taken() {
    let app = TestApp::with(settings());
    let key = app.key("lab", "verify,read").await;
    let bytes = content(3000);
    let path = announced(&app, &key, &bytes).await;
    let pieces = (0..8).map(|_| append(&app, &key, &path, 0, bytes[..1500].to_vec()));
    let answers = futures_util::future::join_all(pieces).await;
    let taken = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(taken, 1);
    assert!(answers.iter().all(|answer| answer.status == 200 || answer.status == 409));
    assert_eq!(append(&app, &key, &path, 1500, bytes[1500..].to_vec()).await.body["state"], "READY");
}

#[tokio::test]
async fn a_slow_piece_is_ended_and_keeps_what_arrived() {
    let uploads = Uploads { idle_s: Duration::from_millis(200).into(), ..Uploads::default() };
    let app = TestApp::with(ApiSettings { uploads, ..settings() });
    let key = app.key("lab", "verify,read").await;
    let bytes = content(3000);
    let path = announced(&app, &key, &bytes).await;
    let (sender, body) = slow_body(3000);
    sender.send(Bytes::from(bytes[..1100].to_vec())).unwrap();
    assert_eq!(error(&append(&app, &key, &path, 0, body).await), (408, "TIMEOUT"));
    assert_eq!(app.get(&path, &key).await.body["offset"], 1100);
}

#[tokio::test]
async fn a_lost_file_starts_again_and_a_renamed_one_is_complete() {
    let app = TestApp::with(settings());
    let key = app.key("lab", "verify,read").await;
    let bytes = content(2500);
    let path = announced(&app, &key, &bytes).await;
    assert_eq!(append(&app, &key, &path, 0, bytes[..1000].to_vec()).await.status, 200);
    let folder = app.folder.path().join("models/lab");
    let partial = folder.join(&files(&app)[0]);
    std::fs::remove_file(&partial).unwrap();
    let lost = append(&app, &key, &path, 1000, bytes[1000..].to_vec()).await;
    assert_eq!((error(&lost), &lost.headers["upload-offset"]), ((409, "CONFLICT"), &"0".parse().unwrap()));
    assert_eq!(append(&app, &key, &path, 0, bytes[..1000].to_vec()).await.status, 200);
    // A server that is killed between the name of the file and its record leaves this.
    let sha256 = Sha256Digest::of(&bytes);
    std::fs::write(folder.join(sha256.to_string()), &bytes).unwrap();
    std::fs::write(folder.join(Sha256Digest::of("orphan").to_string()), "orphan").unwrap();
    std::fs::write(folder.join("019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30.part"), "orphan").unwrap();
    maintain(&app, "a complete model without orphans", async || {
        let ready = app.get(&format!("/models/{sha256}"), &key).await.body["state"] == "READY";
        ready && files(&app).iter().all(|name| *name == sha256.to_string() || partial.ends_with(name))
    })
    .await;
}

#[tokio::test]
async fn unfinished_uploads_and_unused_models_expire() {
    let retention = Retention { model_days: 2.0 / 24.0, ..settings().retention };
    let models = ModelSettings { unfinished_s: assay_api::Seconds::new(600), ..settings().models };
    let app = TestApp::with(ApiSettings { retention, models, ..settings() });
    let key = app.key("lab", "verify,read").await;
    let path = announced(&app, &key, &content(2500)).await;
    app.clock.forward(500);
    assert_eq!(append(&app, &key, &path, 0, content(1000)).await.status, 200);
    app.clock.forward(500);
    let (used, unused) = (uploaded(&app, &key, b"used").await, uploaded(&app, &key, b"unused").await);
    let job = verify(&app, &key, used, None).await;
    assert_eq!((job.status.as_u16(), files(&app).len()), (201, 3));
    app.clock.forward(100);
    maintain(&app, "an expired upload", async || files(&app).len() == 2).await;
    assert_eq!(app.get(&path, &key).await.status, 404);
    app.clock.forward(7200);
    maintain(&app, "an expired model", async || files(&app).len() == 1).await;
    let key = app.key("lab", "verify,read").await;
    assert_eq!(app.get(&format!("/models/{unused}"), &key).await.status, 404);
    assert_eq!(app.get(&format!("/models/{used}"), &key).await.status, 200, "a job needs it");
    let id = job.body["job_id"].as_str().unwrap();
    assert_eq!(app.post(&format!("/verify/{id}/cancel"), &key).await.status, 200);
    app.clock.forward(7300);
    maintain(&app, "the last model", async || files(&app).is_empty()).await;
}

#[test]
fn an_upload_pauses_on_a_full_disk() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    SmallDisk::run("models::an_upload_pauses_on_a_full_disk", 40, |disk| runtime().block_on(on_a_full_disk(disk)));
}

async fn on_a_full_disk(disk: &SmallDisk) {
    let limits = DiskLimits { min_free_mib: 8, ..DiskLimits::default() };
    let settings = ApiSettings { disk: limits, rate: RateLimits::all(1000), ..settings() };
    let app = TestApp::on(tempfile::tempdir_in(disk.path()).unwrap(), settings);
    let key = app.key("lab", "verify,read").await;
    let bytes = content(20 << 20);
    let (half, path) = (bytes.len() / 2, announced(&app, &key, &bytes).await);
    let refused = announce(&app, &key, &content(36 << 20)).await;
    assert_eq!(error(&refused), (503, "UNAVAILABLE"), "{}", refused.body);
    assert_eq!(append(&app, &key, &path, 0, bytes[..half].to_vec()).await.body["offset"], half);
    let free = usize::try_from(disk.free_bytes()).unwrap();
    let filler = disk.fill(u64::try_from(free - (12 << 20)).unwrap());
    let refused = append(&app, &key, &path, half, bytes[half..].to_vec()).await;
    assert_eq!((error(&refused), refused.headers.contains_key("retry-after")), ((503, "UNAVAILABLE"), true));
    assert!(disk.free_bytes() >= 8 << 20, "the reserve was taken: {}", disk.free_bytes());
    // Without any intervention.
    std::fs::remove_file(filler).unwrap();
    assert_eq!(append(&app, &key, &path, half, bytes[half..].to_vec()).await.body["state"], "READY");
}
