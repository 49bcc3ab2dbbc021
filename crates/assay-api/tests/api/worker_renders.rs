//! Renderings that workers on other hosts take.

use assay_model::lane::files;
use assay_model::{Artifact, EpisodeResult, JobId, Sha256Digest};
use assay_store::ShardRequest;
use assay_store_testing::{episode, outcome, signed};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::app::{POLICY, Part, SCENARIO, TestApp};
use crate::workers::HandWorker;

const LEASE: SignedDuration = SignedDuration::from_secs(15);

/// Runs a job of one episode with a recording to its verdict.
async fn recorded_job(app: &TestApp, key: &str) -> JobId {
    let parts = [POLICY, SCENARIO, Part::Text("num_episodes", "1"), Part::Text("record", "all")];
    let made = app.verify(key, &parts).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let id: JobId = made.body["job_id"].as_str().unwrap().parse().unwrap();
    let (records, now) = (&app.state.records, app.state.clock.now());
    let claim = records.claim_shard(&ShardRequest::new("w"), now, LEASE).await.unwrap().unwrap();
    let trace = Sha256Digest::of("the trace");
    let path = app.folder.path().join("trace");
    std::fs::write(&path, "the trace").unwrap();
    app.state.blobs.put(id, trace, &path).await.unwrap();
    app.state.blobs.settle(id).await.unwrap();
    let evidence = vec![Artifact { name: format!("episodes/000/{}", files::TRACE), sha256: trace, size_bytes: 9 }];
    let result = EpisodeResult { evidence, ..episode(0) };
    records.record_episode(claim.fence, result, now).await.unwrap();
    let claim = records.claim_conclusion("w", now, LEASE).await.unwrap().unwrap();
    let found = outcome(&claim.header, &claim.episodes);
    assert!(records.complete_job(claim.fence, found, signed(), now).await.unwrap());
    id
}

fn body(files: &[(&str, &str)]) -> String {
    let listed = |(name, text): &(&str, &str)| {
        json!({
            "name": name, "sha256": Sha256Digest::of(text), "size_bytes": text.len()
        })
    };
    let listed: Vec<Value> = files.iter().map(listed).collect();
    let content: String = files.iter().map(|(_, text)| *text).collect();
    format!("{}\n{content}", json!({ "files": listed, "notes": ["a note"] }))
}

async fn claimed(worker: &HandWorker<'_>) -> Option<(String, Value)> {
    let answer = worker.post("/renders/claim", &json!({ "wait_s": 0 })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let render = &answer.body["render"];
    Some((render["lease"].as_str()?.to_owned(), render["render"].clone()))
}

#[tokio::test]
async fn a_part_is_claimed_rendered_and_signed_under_the_workers_name() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::new(&app, "gpu-07", &admin).await;
    let other = HandWorker::new(&app, "gpu-08", &admin).await;
    let id = recorded_job(&app, &admin).await;
    let (lease, render) = claimed(&worker).await.unwrap();
    assert_eq!((&render["part"], &render["job_id"]), (&json!("log"), &json!(id)));
    assert_eq!(render["max_image_bytes"].as_u64().map(|bytes| bytes > 0), Some(true));
    assert!(claimed(&other).await.is_none(), "taken");

    let recording = worker.send("GET", &format!("/renders/{lease}/recording"), "").await;
    assert_eq!((recording.status.as_u16(), recording.headers["content-length"].to_str().unwrap()), (200, "9"));
    for (method, path) in [("GET", "recording"), ("GET", "scenario"), ("POST", "files"), ("POST", "return")] {
        let foreign = other.send(method, &format!("/renders/{lease}/{path}"), "{}").await;
        assert_eq!(foreign.status, 403, "{path}");
    }
    let beat = worker.post("/beat", &json!({ "leases": [lease], "progress": [] })).await;
    assert_eq!(beat.body["lost"], json!([]));

    let put = async |body: String| worker.send("POST", &format!("/renders/{lease}/files"), body).await;
    let whole = body(&[("log.mcap", "a log")]);
    for (wrong, status) in [
        (body(&[("video.mp4", "a video")]), 400),
        (body(&[("../log.mcap", "a log")]), 400),
        (body(&[("log.mcap", "a log"), ("log.mcap", "a log")]), 400),
        (whole.replace("a log", "a lag"), 400),
        (format!("{whole}more"), 400),
        (whole.replace("a log", "a l"), 422),
        ("no list".to_owned(), 422),
        ("{}\n".to_owned(), 400),
    ] {
        let refused = put(wrong.clone()).await;
        assert_eq!(refused.status, status, "{wrong}: {}", refused.body);
    }
    assert!(app.state.records.renders(id).await.unwrap()[0].files.is_empty());
    assert_eq!(put(whole.clone()).await.status, 204);
    let drawn = app.state.records.renders(id).await.unwrap().remove(0);
    let named: Vec<&str> = drawn.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!((named, drawn.done), (vec!["episodes/000/log.mcap", "episodes/000/statement"], false));
    assert_eq!(drawn.notes, ["a note"]);
    assert_eq!(drawn.files[1].sha256, Sha256Digest::of("by gpu-07"), "the statement names the worker");
    assert_eq!(app.state.blobs.size(id, drawn.files[0].sha256).await.unwrap(), 5);
    assert_eq!(put(whole).await.status, 409, "once");
    let beat = worker.post("/beat", &json!({ "leases": [lease], "progress": [] })).await;
    assert_eq!(beat.body["lost"], json!([lease]));

    // A video comes with its images, and may have a picture of its worst moment and a clip around it.
    let (lease, render) = claimed(&worker).await.unwrap();
    assert_eq!(render["part"], "video");
    let put = async |body: String| worker.send("POST", &format!("/renders/{lease}/files"), body).await;
    let [clip, images, still, video] = ["clip.mp4", "images.mcap", "still.png", "video.mp4"].map(|name| (name, name));
    for wrong in [&[video][..], &[images], &[video, images], &[images, video, video], &[clip, still]] {
        assert_eq!(put(body(wrong)).await.status, 400, "{wrong:?}");
    }
    assert_eq!(put(body(&[clip, images, still, video])).await.status, 204);
    assert_eq!(app.state.records.renders(id).await.unwrap()[0].files.len(), 2 + 4 + 1, "and their statements");
}

#[tokio::test]
async fn a_part_that_no_worker_can_render_is_abandoned_with_a_note() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::new(&app, "gpu-07", &admin).await;
    let id = recorded_job(&app, &admin).await;
    let give_back = async |failure: Option<&str>| {
        let (lease, render) = claimed(&worker).await.unwrap();
        let path = format!("/renders/{lease}/return");
        assert_eq!(worker.post(&path, &json!({ "failure": failure })).await.status, 204);
        render["part"].as_str().unwrap().to_owned()
    };
    for _ in 0..9 {
        assert_eq!(give_back(None).await, "log", "a worker that stops counts no failure");
    }
    for _ in 0..=assay_store::MAX_RENDER_RETRIES {
        assert_eq!(give_back(Some("no OpenGL in /home/secret")).await, "log");
    }
    assert_eq!(give_back(None).await, "video", "the log is given up");
    let notes = app.state.records.renders(id).await.unwrap().remove(0).notes;
    assert_eq!(notes, ["the log is missing: it could not be rendered by the workers that tried"]);
}
