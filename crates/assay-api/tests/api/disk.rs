//! Slow bodies and a full disk, on a real disk of a few MiB.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assay_api::{AccountLimits, ApiSettings, DiskLimits, RateLimits, Uploads};
use assay_testkit::{PATIENCE, SmallDisk};
use axum::body::{Body, Bytes};
use futures_util::stream;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::app::{Answer, POLICY, Part, SCENARIO, TestApp, ZIP, encode, request};

const MIB: usize = 1 << 20;

/// A request whose body this test sends in pieces; it ends when the sender is dropped.
struct Dripping {
    sender: Option<UnboundedSender<Bytes>>,
    answer: JoinHandle<Answer>,
}

impl Dripping {
    /// Begins a form with the archive `content`, of which only the first `sent` bytes come.
    fn begin(app: &Arc<TestApp>, (path, key): (&str, &str), part: &str, content: &[u8], sent: usize) -> Self {
        let archive = Part::File(part, "x.zip", content);
        let parts = if part == "scenario" { vec![archive] } else { vec![SCENARIO, archive] };
        let body = Bytes::from(encode(&parts));
        let (sender, receiver) = unbounded_channel::<Bytes>();
        sender.send(body.slice(..sent.min(body.len() - 10))).unwrap();
        let pieces = stream::unfold(receiver, async |mut receiver| {
            let piece = receiver.recv().await?;
            Some((Ok::<_, std::io::Error>(piece), receiver))
        });
        let sending = request("POST", path, key).header("content-type", "multipart/form-data; boundary=XyZ");
        let sending = sending.body(Body::from_stream(pieces)).unwrap();
        let app = Arc::clone(app);
        let answer = tokio::spawn(async move { app.send(sending).await });
        Self { sender: Some(sender), answer }
    }

    /// Sends more, and waits for an answer before the end of the body: a parser that sees the end first refuses the
    /// form.
    async fn goes_on(&mut self, with: Vec<u8>) -> Answer {
        let sender = self.sender.take().unwrap();
        sender.send(with.into()).unwrap();
        (&mut self.answer).await.unwrap()
    }
}

pub(crate) async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let condition = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, condition).await.unwrap_or_else(|_| panic!("waited too long for {what}"));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Creates an app that keeps 8 MiB free and accepts archives of 8 MiB.
fn on(folder: &Path) -> Arc<TestApp> {
    let settings = ApiSettings {
        disk: DiskLimits { min_free_mib: 8, ..DiskLimits::default() },
        uploads: Uploads { max_bytes: 8 << 20, ..Uploads::default() },
        rate: RateLimits::all(1_000_000),
        ..ApiSettings::default()
    };
    let app = TestApp::on(tempfile::tempdir_in(folder).unwrap(), settings);
    app.state.readiness.set(Ok(()));
    Arc::new(app)
}

#[test]
fn one_account_cannot_fill_the_disk() {
    SmallDisk::run("disk::one_account_cannot_fill_the_disk", 40, |disk| runtime().block_on(dripping(disk)));
}

async fn dripping(disk: &SmallDisk) {
    let app = on(disk.path());
    let (lab, other, third) =
        (app.key("lab", "verify").await, app.key("other", "verify").await, app.key("third", "verify").await);
    let archive = [ZIP, &vec![7; 7 * MIB]].concat();
    // Five of unknown length: each reserves the largest size of an archive.
    let first = Dripping::begin(&app, ("/verify", &lab), "policy", &archive, MIB);
    until("the first upload", async || app.leftovers() == 1).await;
    for _ in 0..4 {
        let refused = Dripping::begin(&app, ("/verify", &lab), "policy", &archive, MIB).answer.await.unwrap();
        assert_eq!((refused.status.as_u16(), refused.code()), (429, "RATE_LIMITED"), "{}", refused.body);
        assert_eq!(refused.body["error"]["details"]["limit"], json!("uploading_mib"));
        assert_eq!(refused.headers["retry-after"], "10");
    }
    // Another account is not blocked, neither with a small archive nor with a large one.
    assert_eq!(app.verify(&other, &[POLICY, SCENARIO]).await.status, 201);
    let _second = Dripping::begin(&app, ("/verify", &other), "policy", &archive, MIB);
    until("the second upload", async || app.leftovers() == 2).await;
    let _third = Dripping::begin(&app, ("/verify", &third), "policy", &archive, MIB);
    until("the third upload", async || app.leftovers() == 3).await;
    // The rest is too small for a fourth beside the announced size of those three.
    let fourth = app.key("fourth", "verify").await;
    let refused = Dripping::begin(&app, ("/verify", &fourth), "policy", &archive, MIB).answer.await.unwrap();
    assert_eq!((refused.status.as_u16(), refused.code()), (503, "UNAVAILABLE"), "{}", refused.body);
    assert!(refused.message().contains("the disk has room for"), "{}", refused.message());
    assert_eq!(app.verify(&fourth, &[POLICY, SCENARIO]).await.status, 201, "a small one fits");
    assert!(disk.free_bytes() >= 8 << 20, "the reserve was taken: {}", disk.free_bytes());
    assert_eq!(app.get("/readyz", "").await.status, 200);
    // Disconnecting releases the reservation.
    first.answer.abort();
    until("the end of the first upload", async || app.leftovers() == 2).await;
    let again = Dripping::begin(&app, ("/verify", &fourth), "policy", &archive, MIB);
    until("the fourth upload", async || app.leftovers() == 3).await;
    drop(again);
}

#[test]
fn an_upload_fails_when_others_fill_the_disk() {
    SmallDisk::run("disk::an_upload_fails_when_others_fill_the_disk", 40, |disk| runtime().block_on(filled(disk)));
}

async fn filled(disk: &SmallDisk) {
    let app = on(disk.path());
    let key = app.key("lab", "verify,read").await;
    let archive = [ZIP, &vec![7; 4 * MIB]].concat();
    let mut upload = Dripping::begin(&app, ("/verify", &key), "policy", &archive, MIB);
    until("the upload", async || app.leftovers() == 1).await;
    // Evidence, for example, which reserves no space.
    let filler = disk.fill(6 << 20);
    let answer = upload.goes_on(vec![7; MIB]).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (503, "UNAVAILABLE"), "{}", answer.body);
    assert_eq!(answer.headers["retry-after"], "60");
    assert!(answer.message().contains("uploads are rejected until space is freed"), "{}", answer.message());
    assert_eq!(app.leftovers(), 0);
    let ready = app.get("/readyz", "").await;
    assert_eq!(ready.status, 503);
    assert!(ready.message().contains("the disk is nearly full"), "{}", ready.message());
    assert_eq!(app.verify(&key, &[POLICY, SCENARIO]).await.status, 503);
    assert!(disk.free_bytes() >= 5 << 20, "{}", disk.free_bytes());
    // Without any intervention.
    std::fs::remove_file(filler).unwrap();
    assert_eq!(app.get("/readyz", "").await.status, 200);
    assert_eq!(app.verify(&key, &[POLICY, SCENARIO]).await.status, 201);
}

#[tokio::test]
async fn concurrent_uploads_are_limited_per_account() {
    let account = AccountLimits { uploads: 2, ..AccountLimits::default() };
    let app = Arc::new(TestApp::with(ApiSettings { account, ..ApiSettings::default() }));
    let (key, other) = (app.key("lab", "verify,submit,publish").await, app.key("other", "verify").await);
    let archive = [ZIP, &vec![7; MIB]].concat();
    let _held = [
        Dripping::begin(&app, ("/verify", &key), "policy", &archive, MIB / 2),
        Dripping::begin(&app, ("/submissions", &key), "policy", &archive, MIB / 2),
    ];
    until("two uploads", async || app.leftovers() == 2).await;
    for (path, part) in [
        ("/verify", "policy"),
        ("/submissions", "policy"),
        ("/preflight", "policy"),
        ("/community/scenarios", "scenario"),
    ] {
        let refused = Dripping::begin(&app, (path, &key), part, &archive, MIB).answer.await.unwrap();
        let details = json!({ "limit": "uploads", "maximum": 2, "current": 2, "frees_at": null,
                              "frees_when": "when one of your account's uploads ends" });
        assert_eq!((refused.status.as_u16(), &refused.body["error"]["details"]), (429, &details), "{path}");
        assert!(refused.message().contains("2 of 2 uploads in progress"), "{}", refused.message());
    }
    assert_eq!(app.verify(&other, &[POLICY, SCENARIO]).await.status, 201, "an account's own");
}

#[tokio::test]
async fn slow_uploads_do_not_block_preflights_and_publications() {
    let app = Arc::new(TestApp::new());
    let archive = [ZIP, &vec![7; MIB]].concat();
    for (path, part, whole) in [
        ("/preflight", "policy", POLICY),
        ("/community/scenarios", "scenario", Part::File("scenario", "s.zip", b"reach 1")),
    ] {
        let before = app.leftovers();
        let mut dripping = Vec::new();
        for account in ["one", "two", "three"] {
            let key = app.key(account, "verify,publish").await;
            dripping.push(Dripping::begin(&app, (path, &key), part, &archive, MIB / 2));
        }
        until("three bodies", async || app.leftovers() == before + 3).await;
        let key = app.key("lab", "verify,publish").await;
        let parts = if part == "policy" { vec![whole, SCENARIO] } else { vec![whole] };
        let sent = request("POST", path, &key).header("content-type", "multipart/form-data; boundary=XyZ");
        let answer = app.send(sent.body(Body::from(encode(&parts))).unwrap()).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.body);
        dripping.iter().for_each(|one| one.answer.abort());
        until("no body", async || app.leftovers() == before).await;
    }
}
