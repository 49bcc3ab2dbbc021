//! Erasing jobs, and the operator's retention.

use std::path::Path;
use std::time::Duration;

use assay_api::{ApiSettings, Retention, Seconds, endpoints, run_maintenance};
use assay_model::{Artifact, EpisodeResult, JobId, Scopes, Sha256Digest};
use assay_store::{REMOVAL_SETTLE_TIME, Removal, RenderRequest, ShardRequest};
use assay_testkit::PATIENCE;
use axum::body::Body;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::app::{Answer, POLICY, Part, SCENARIO, TestApp, request};

const SCOPES: &str = "verify,read,review,admin";

async fn erase(app: &TestApp, key: &str, id: &str) -> Answer {
    app.send(request("DELETE", &format!("/verify/{id}"), key).body(Body::empty()).unwrap()).await
}

/// A completed job of one episode with one file of evidence of `bytes`, and what is signed: its id.
async fn completed(app: &TestApp, key: &str, bytes: usize, archive: &[u8]) -> String {
    let parts = [Part::File("policy", "p.zip", archive), SCENARIO, Part::Text("num_episodes", "1")];
    let created = app.verify(key, &parts).await;
    let id = created.body["job_id"].as_str().unwrap().to_owned();
    let job: JobId = id.parse().unwrap();
    let (records, now, lease) = (&app.state.records, app.state.clock.now(), SignedDuration::from_secs(15));
    let claim = records.claim_shard(&ShardRequest::new("w"), now, lease).await.unwrap().unwrap();
    assert_eq!(claim.fence.job_id, job);
    let (file, content) = (app.folder.path().join("evidence"), vec![7; bytes]);
    std::fs::write(&file, &content).unwrap();
    let sha256 = Sha256Digest::of(&content);
    app.state.blobs.put(job, sha256, &file).await.unwrap();
    std::fs::remove_file(file).unwrap();
    let evidence = vec![Artifact { name: "episodes/000/trace.parquet".into(), sha256, size_bytes: bytes as u64 }];
    let result = EpisodeResult { evidence, ..assay_store_testing::episode(0) };
    records.record_episode(claim.fence, result, now).await.unwrap();
    let taken = records.claim_conclusion("w", now, lease).await.unwrap().unwrap();
    let found = assay_store_testing::outcome(&taken.header, &taken.episodes);
    assert!(records.complete_job(taken.fence, found, assay_store_testing::signed(), now).await.unwrap());
    id
}

/// Files of the data folder that belong to a job.
fn files(app: &TestApp) -> Vec<String> {
    fn below(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { below(&path, found) } else { found.push(path.display().to_string()) }
        }
    }
    let mut found = Vec::new();
    for name in ["blobs", "policies", "servers"] {
        let folder = app.folder.path().join(name);
        if folder.is_dir() {
            below(&folder, &mut found);
        }
    }
    found
}

/// Runs the maintenance until nothing is due.
async fn look_after(app: &TestApp) {
    let done = async {
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if app.state.records.pending_removals(1).await.unwrap().is_empty() {
                return;
            }
        }
    };
    let limit = tokio::time::timeout(PATIENCE, done);
    let stopped = async { limit.await.expect("removals that are done") };
    run_maintenance(app.state.clone(), stopped).await;
}

#[tokio::test]
async fn only_the_record_of_an_erased_job_remains() {
    let app = TestApp::new();
    let key = app.key("lab", SCOPES).await;
    let id = completed(&app, &key, 100, b"PK\x03\x04 one").await;
    let url = app.get(&format!("/verify/{id}"), &key).await.body["episode_details"][0]["evidence"][0]["url"].clone();
    let url = url.as_str().unwrap();
    assert_eq!((app.get(url, "").await.status.as_u16(), files(&app).len()), (200, 2));
    let (stranger, reviewer) = (app.key("other", "verify,read").await, app.key("other", "verify,read,review").await);
    assert_eq!(erase(&app, &stranger, &id).await.status, 404);
    assert_eq!(erase(&app, &reviewer, &id).await.status, 404);
    assert_eq!(erase(&app, &key, "no-id").await.status, 404);
    assert_eq!(erase(&app, &key, &id).await.status, 204);
    assert_eq!(files(&app), [""; 0]);

    for endpoint in endpoints().into_iter().filter(|e| e.path.starts_with("/verify/{job_id}")) {
        let path = endpoint.path.replace("{job_id}", &id);
        let mut request = request(endpoint.method, &path, &key);
        let review = json!({ "decision": "accepted", "reason": "I looked." }).to_string();
        let body = if endpoint.path.ends_with("/review") {
            request = request.header("content-type", "application/json");
            Body::from(review)
        } else {
            Body::empty()
        };
        let answer = app.send(request.body(body).unwrap()).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (410, "GONE"), "{endpoint:?}");
        assert!(answer.message().contains("the job was erased at 2025-"), "{}", answer.message());
    }
    assert_eq!((app.get(url, "").await.status.as_u16(), app.get(url, "").await.code()), (410, "GONE"));
    assert_eq!(app.get(&format!("/verify/{id}"), &stranger).await.status, 404);
    let listed = &app.get("/verify", &key).await.body["jobs"][0];
    assert_eq!(listed["job_id"], json!(id));
    assert!(listed["erased_at"].is_string() && listed["report_url"].is_null(), "{listed}");
    assert_eq!(listed["verdict"], json!("SAFE"), "the record stays");
}

#[tokio::test]
async fn a_running_job_cannot_be_erased() {
    let app = TestApp::new();
    let key = app.key("lab", SCOPES).await;
    let id = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    let answer = erase(&app, &key, &id).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (409, "CONFLICT"));
    assert!(answer.message().contains("QUEUED: cancel it first"), "{}", answer.message());
    assert_eq!(app.post(&format!("/verify/{id}/cancel"), &key).await.status, 200);
    assert_eq!(erase(&app, &key, &id).await.status, 204);
    assert_eq!(files(&app), [""; 0]);
}

#[tokio::test]
async fn an_archive_that_another_job_needs_is_kept() {
    let app = TestApp::new();
    let key = app.key("lab", SCOPES).await;
    let one = completed(&app, &key, 10, b"PK\x03\x04 same").await;
    let two = completed(&app, &key, 10, b"PK\x03\x04 same").await;
    assert_eq!(erase(&app, &key, &one).await.status, 204);
    let policies = app.folder.path().join("policies");
    assert_eq!(std::fs::read_dir(&policies).unwrap().count(), 1);
    assert_eq!(erase(&app, &key, &two).await.status, 204);
    assert_eq!(files(&app), [""; 0]);
}

#[tokio::test]
async fn an_interrupted_erasure_is_completed_at_the_next_start() {
    let app = TestApp::new();
    let key = app.key("lab", SCOPES).await;
    let id = completed(&app, &key, 10, b"PK\x03\x04 one").await;
    // As far as it got: it was decided, and nothing was removed.
    app.state.records.erase_job(None, id.parse().unwrap(), app.state.clock.now()).await.unwrap();
    assert_eq!((app.get(&format!("/verify/{id}"), &key).await.status.as_u16(), files(&app).len()), (410, 2));
    app.clock.forward(60);
    look_after(&app).await;
    assert_eq!(files(&app), [""; 0]);
}

#[tokio::test]
async fn files_of_a_late_lane_are_removed_too() {
    let app = TestApp::new();
    let key = app.key("lab", SCOPES).await;
    let id = completed(&app, &key, 10, b"PK\x03\x04 one").await;
    assert_eq!(erase(&app, &key, &id).await.status, 204);
    let late = app.folder.path().join("late");
    std::fs::write(&late, "late").unwrap();
    app.state.blobs.put(id.parse().unwrap(), Sha256Digest::of("late"), &late).await.unwrap();
    let due: Vec<Removal> = app.state.records.pending_removals(9).await.unwrap();
    assert_eq!(due.len(), 1, "it is looked for again");
    app.clock.forward(60);
    look_after(&app).await;
    assert_eq!(files(&app), [""; 0]);
}

#[tokio::test]
async fn files_of_attempts_without_a_result_are_removed() {
    let app = TestApp::new();
    let key = app.key("lab", SCOPES).await;
    let completed = completed(&app, &key, 10, b"PK\x03\x04 one").await;
    let parts = [Part::File("policy", "p.zip", b"PK\x03\x04 two"), SCENARIO, Part::Text("num_episodes", "1")];
    let cancelled = app.verify(&key, &parts).await.body["job_id"].as_str().unwrap().to_owned();
    assert_eq!(app.post(&format!("/verify/{cancelled}/cancel"), &key).await.status, 200);
    let recorded: Vec<String> = files(&app);
    for job in [&completed, &cancelled] {
        // As a killed process, or one that did not know yet, leaves them.
        let file = app.folder.path().join("unrecorded");
        std::fs::write(&file, "unrecorded").unwrap();
        app.state.blobs.put(job.parse().unwrap(), Sha256Digest::of("unrecorded"), &file).await.unwrap();
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!(files(&app).len(), recorded.len() + 2);
    let (records, now) = (&app.state.records, app.state.clock.now());
    while let Some(claim) =
        records.claim_render(RenderRequest::new("w"), now, SignedDuration::from_secs(15)).await.unwrap()
    {
        assert!(records.record_render(claim.fence, Vec::new(), Vec::new()).await.unwrap());
    }
    app.clock.forward(60);
    look_after(&app).await;
    assert_eq!(files(&app), recorded);
}

/// The folder of archives, with one more file in it.
fn put_policy(app: &TestApp, name: &str) -> std::path::PathBuf {
    let path = app.folder.path().join("policies").join(name);
    std::fs::write(&path, b"PK").unwrap();
    path
}

#[tokio::test]
async fn an_archive_without_a_job_is_removed_at_the_next_start() {
    let app = TestApp::new();
    let key = app.key("lab", SCOPES).await;
    assert_eq!(app.verify(&key, &[POLICY, SCENARIO]).await.status, 201);
    // Where a server was killed after an upload had got its place, and before its job had its row.
    let orphan = put_policy(&app, &format!("{}.zip", "0".repeat(64)));
    let gone = async {
        while orphan.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let limit = tokio::time::timeout(PATIENCE, gone);
    run_maintenance(app.state.clone(), async { limit.await.expect("an orphan that is gone") }).await;
    assert_eq!(files(&app).len(), 1, "a job's stays: {:?}", files(&app));
}

#[tokio::test]
async fn only_the_record_and_rank_of_an_erased_submission_remain() {
    let app = TestApp::new();
    let key = app.key("lab", &Scopes::all().to_string()).await;
    let id = app.submitted(&key).await;
    let job: JobId = id.parse().unwrap();
    let path = format!("/submissions/{id}");
    let (file, sha256) = (app.folder.path().join("evidence"), Sha256Digest::of("seen"));
    std::fs::write(&file, b"seen").unwrap();
    app.state.blobs.put(job, sha256, &file).await.unwrap();
    let delete = async |key: &str| app.send(request("DELETE", &path, key).body(Body::empty()).unwrap()).await;
    let open = delete(&key).await;
    assert_eq!((open.status.as_u16(), open.code()), (409, "CONFLICT"), "its season may have to run it again");
    app.close_season().await;
    let board = async || app.get("/leaderboard?scenario=cartpole_keepin", &key).await.body["entries"].clone();
    let before = board().await;
    assert_eq!(before[0]["submission_id"], json!(id));
    let (stranger, reader) = (app.key("other", "read,submit").await, app.key("lab", "read").await);
    assert_eq!((delete(&stranger).await.status.as_u16(), delete(&reader).await.status.as_u16()), (404, 403));
    assert_eq!((files(&app).len(), delete(&key).await.status.as_u16()), (2, 204), "{:?}", files(&app));
    assert_eq!(files(&app), [""; 0]);

    let below = endpoints().into_iter().filter(|e| e.path.starts_with("/submissions/{id}"));
    for endpoint in below {
        let bare = request(endpoint.method, &endpoint.path.replace("{id}", &id), &key).body(Body::empty()).unwrap();
        let answer = app.send(bare).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (410, "GONE"), "{endpoint:?}: {}", answer.body);
    }
    let listed = &app.get("/submissions", &key).await.body["submissions"][0];
    assert_eq!((&listed["id"], &listed["verdict"]), (&json!(id), &json!("SAFE")), "the record stays");
    assert!(listed["erased_at"].is_string(), "{listed}");
    assert_eq!(board().await, before, "and what it reached");
}

fn keeping(retention: Retention) -> TestApp {
    let every_s = Seconds::from(Duration::from_millis(100));
    TestApp::with(ApiSettings { retention: Retention { every_s, ..retention }, ..ApiSettings::default() })
}

#[tokio::test]
async fn evidence_over_the_size_limit_is_removed_oldest_first() {
    let app = keeping(Retention { evidence_max_mib: 1, ..Retention::default() });
    let key = app.key("lab", SCOPES).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        app.clock.forward(10);
        ids.push(completed(&app, &key, 500 << 10, b"PK\x03\x04 one").await);
    }
    let running = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    let before = app.get(&format!("/verify/{}", ids[0]), &key).await.body;
    let url = before["episode_details"][0]["evidence"][0]["url"].as_str().unwrap().to_owned();
    app.clock.forward(60);
    look_until_evidence_goes(&app, &ids[0]).await;
    let usage = app.state.blobs.usage().await.unwrap().unwrap();
    let mut left: Vec<String> = usage.keys().map(ToString::to_string).collect();
    left.sort();
    assert_eq!(left, ids[1..]);

    let job = app.get(&format!("/verify/{}", ids[0]), &key).await;
    assert_eq!(job.status, 200);
    assert!(job.body["evidence_removed_at"].is_string() && job.body["erased_at"].is_null());
    assert_eq!(job.body["episode_details"][0]["evidence"][0]["url"], Value::Null);
    let artifact = app.get(&url, "").await;
    assert_eq!((artifact.status.as_u16(), artifact.code()), (410, "GONE"));
    assert!(artifact.message().contains("was removed at"), "{}", artifact.message());
    let replay = app.post(&format!("/verify/{}/replay", ids[0]), &key).await;
    assert_eq!((replay.status.as_u16(), replay.code()), (410, "GONE"));
    assert_eq!(app.get(&format!("/verify/{}/report.json", ids[0]), &key).await.status, 200, "the report stays");
    assert_eq!(app.get(&format!("/verify/{}/report", ids[0]), &key).await.status, 200);
    for untouched in [&ids[1], &ids[2], &running] {
        let job = app.get(&format!("/verify/{untouched}"), &key).await;
        assert_eq!(job.body["evidence_removed_at"], Value::Null);
    }
}

/// Looks after what is kept until the evidence of a job is gone, and again when whoever was about to add to it has
/// stopped.
async fn look_until_evidence_goes(app: &TestApp, id: &str) {
    let job: JobId = id.parse().unwrap();
    looked_after(app, async || app.state.records.job(None, job).await.unwrap().unwrap().removed.evidence_at.is_some())
        .await;
    app.clock.forward(REMOVAL_SETTLE_TIME.as_secs() + 1);
    looked_after(app, async || app.state.records.pending_removals(1).await.unwrap().is_empty()).await;
}

async fn looked_after(app: &TestApp, until: impl AsyncFn() -> bool) {
    let gone = async {
        while !until().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let limit = tokio::time::timeout(PATIENCE, gone);
    run_maintenance(app.state.clone(), async { limit.await.expect("old evidence that is gone") }).await;
}

#[tokio::test]
async fn evidence_and_policies_expire_by_age() {
    let day = 1.0 / 24.0;
    let app = keeping(Retention { evidence_days: day, policy_days: day, ..Retention::default() });
    let key = app.key("lab", SCOPES).await;
    let old = completed(&app, &key, 10, b"PK\x03\x04 old").await;
    app.clock.forward(3000);
    let new = completed(&app, &key, 10, b"PK\x03\x04 new").await;
    app.clock.forward(1000);
    look_until_evidence_goes(&app, &old).await;
    let key = app.key("lab", SCOPES).await;
    let removed = app.get(&format!("/verify/{old}"), &key).await.body["evidence_removed_at"].clone();
    assert!(removed.is_string());
    assert_eq!(app.get(&format!("/verify/{new}"), &key).await.body["evidence_removed_at"], Value::Null);
    assert_eq!(std::fs::read_dir(app.folder.path().join("policies")).unwrap().count(), 1);
}
