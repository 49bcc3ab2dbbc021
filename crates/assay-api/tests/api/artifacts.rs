//! Evidence over HTTP: signed URLs, ranges, and the report.

use assay_model::{Artifact, Sha256Digest};
use assay_store::{RenderRequest, ShardRequest};
use assay_store_testing::{episode, outcome};
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::app::{POLICY, Part, SCENARIO, TestApp, request};

const LEASE: SignedDuration = SignedDuration::from_secs(15);
const VIDEO: &[u8] = b"0123456789";

struct Raw {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

async fn fetch(app: &TestApp, path: &str, key: &str, headers: &[(&str, &str)]) -> Raw {
    let mut request = request("GET", path, key);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = app.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    Raw { status: parts.status, headers: parts.headers, body: body.collect().await.unwrap().to_bytes().to_vec() }
}

/// A completed job whose one episode has a video and a log.
async fn completed(app: &TestApp, key: &str) -> String {
    let created = app.verify(key, &[POLICY, SCENARIO, Part::Text("num_episodes", "1")]).await;
    let id = created.body["job_id"].as_str().unwrap().to_owned();
    let (records, now) = (&app.state.records, app.state.clock.now());
    let claim = records.claim_shard(&ShardRequest::new("w"), now, LEASE).await.unwrap().unwrap();
    let mut result = episode(0);
    for (name, content, sha256) in [
        ("log.mcap", &b"a log"[..], Sha256Digest::new([0xaa; 32])),
        ("video.mp4", VIDEO, Sha256Digest::new([0xbb; 32])),
    ] {
        let file = app.folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        app.state.blobs.put(claim.fence.job_id, sha256, &file).await.unwrap();
        let name = format!("episodes/000/{name}");
        result.evidence.push(Artifact { name, sha256, size_bytes: content.len() as u64 });
    }
    result.video_path = Some("episodes/000/video.mp4".into());
    result.log_path = Some("episodes/000/log.mcap".into());
    records.record_episode(claim.fence, result, now).await.unwrap();
    let taken = records.claim_conclusion("w", now, LEASE).await.unwrap().unwrap();
    let found = outcome(&taken.header, &taken.episodes);
    assert!(records.complete_job(taken.fence, found, assay_store_testing::signed(), now).await.unwrap());
    id
}

#[tokio::test]
async fn a_signed_address_has_one_spelling() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let id = completed(&app, &key).await;
    let listed = app.get("/verify", &key).await.body["jobs"][0]["video_url"].clone();
    assert_eq!(listed, app.get(&format!("/verify/{id}"), &key).await.body["video_url"], "the list has it as well");
    // Until the signature has a byte below 16 (`0f`) and a digit that is a letter.
    let video = loop {
        let job = app.get(&format!("/verify/{id}"), &key).await.body;
        let video = job["video_url"].as_str().unwrap().to_owned();
        let (_, signature) = video.split_once("signature=").unwrap();
        if signature.as_bytes().chunks(2).any(|pair| pair[0] == b'0') && signature.contains(char::is_alphabetic) {
            break video;
        }
        app.clock.forward(1);
    };
    assert_eq!(fetch(&app, &video, "", &[]).await.status, 200);
    let (path, query) = video.split_once('?').unwrap();
    let (start, signature) = video.split_once("signature=").unwrap();
    let mut spellings = vec![
        format!("{start}signature={}", signature.to_uppercase()),
        format!("{start}signature=%20{signature}"),
        format!("{start}signature={signature}00"),
        format!("{path}?{}", query.replacen("expires=", "expires=%2B", 1)),
        format!("{path}?{}", query.replacen("expires=", "expires=0", 1)),
    ];
    for at in (0..signature.len()).step_by(2).filter(|at| signature.as_bytes()[*at] == b'0') {
        spellings.push(format!("{start}signature={}%2B{}", &signature[..at], &signature[at + 1..]));
    }
    for address in spellings {
        let got = app.get(&address, "").await;
        assert_eq!((got.status.as_u16(), got.code()), (403, "FORBIDDEN"), "{address}");
    }
}

#[tokio::test]
async fn addresses_are_signed_and_expire() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let id = completed(&app, &key).await;
    let job = app.get(&format!("/verify/{id}"), &key).await.body;
    let video = job["video_url"].as_str().unwrap().to_owned();
    let episode = &job["episode_details"][0];
    assert_eq!((&episode["video_url"], &episode["evidence"][1]["url"]), (&json!(video), &json!(video)));
    assert_eq!(episode["log_url"], episode["evidence"][0]["url"]);
    assert_eq!(episode["log_type"], "mcap");
    assert!(video.starts_with(&format!("/artifacts/{id}/{}/000-video.mp4?expires=", "b".repeat(64))), "{video}");

    // No key: the address is enough, at both places.
    for address in [video.clone(), format!("/v1{video}")] {
        let got = fetch(&app, &address, "", &[]).await;
        assert_eq!((got.status.as_u16(), got.body.as_slice()), (200, VIDEO), "{address}");
        for (name, value) in [
            ("content-type", "video/mp4"),
            ("content-disposition", "inline"),
            ("content-length", "10"),
            ("accept-ranges", "bytes"),
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "sandbox; default-src 'none'"),
            ("cache-control", "private, max-age=600"),
        ] {
            assert_eq!(got.headers[name], value, "{name}");
        }
    }
    let log = fetch(&app, episode["log_url"].as_str().unwrap(), "", &[]).await;
    assert_eq!(log.headers["content-disposition"], "attachment; filename=\"000-log.mcap\"");
    assert_eq!(
        (log.headers["content-type"].to_str().unwrap(), log.body.as_slice()),
        ("application/octet-stream", &b"a log"[..])
    );

    let (path, query) = video.split_once('?').unwrap();
    let other = format!("{}?{query}", path.replace(&"b".repeat(64), &"a".repeat(64)));
    let renamed = format!("{}?{query}", path.replace(".mp4", ".html"));
    let longer = video.replace("expires=", "expires=9");
    let flipped = if video.ends_with('0') {
        format!("{}1", &video[..video.len() - 1])
    } else {
        format!("{}0", &video[..video.len() - 1])
    };
    let cut = video[..video.len() - 2].to_owned();
    for address in [path.to_owned(), other, renamed, longer, flipped, cut, format!("{path}?expires=x&signature=")] {
        let got = app.get(&address, "").await;
        assert_eq!((got.status.as_u16(), got.code()), (403, "FORBIDDEN"), "{address}");
    }
    app.clock.forward(601);
    let late = app.get(&video, "").await;
    assert_eq!((late.status.as_u16(), late.code()), (403, "FORBIDDEN"));
    assert!(late.message().contains("expired"), "{}", late.message());
}

#[tokio::test]
async fn byte_ranges_of_a_video_are_served() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let id = completed(&app, &key).await;
    let video = app.get(&format!("/verify/{id}"), &key).await.body["video_url"].as_str().unwrap().to_owned();
    let etag = format!("\"{}\"", "b".repeat(64));
    for (headers, status, range, body) in [
        (vec![("range", "bytes=2-4")], 206, "bytes 2-4/10", "234"),
        (vec![("range", "bytes=7-")], 206, "bytes 7-9/10", "789"),
        (vec![("range", "bytes=-2")], 206, "bytes 8-9/10", "89"),
        (vec![("range", "bytes=0-99")], 206, "bytes 0-9/10", "0123456789"),
        (vec![("range", "bytes=0-1,3-4")], 200, "", "0123456789"),
        (vec![("range", "bytes=2-4"), ("if-range", etag.as_str())], 206, "bytes 2-4/10", "234"),
        (vec![("range", "bytes=2-4"), ("if-range", "\"other\"")], 200, "", "0123456789"),
        (vec![("if-none-match", etag.as_str())], 304, "", ""),
        (vec![("if-none-match", "\"other\"")], 200, "", "0123456789"),
        (vec![("accept", "video/webm")], 200, "", "0123456789"),
    ] {
        let got = fetch(&app, &video, "", &headers).await;
        let text = String::from_utf8(got.body).unwrap();
        assert_eq!((got.status.as_u16(), text.as_str()), (status, body), "{headers:?}");
        assert_eq!(got.headers["etag"], etag.as_str());
        let shown = got.headers.get("content-range").map_or("", |value| value.to_str().unwrap());
        assert_eq!(shown, range, "{headers:?}");
    }
    let got = fetch(&app, &video, "", &[("range", "bytes=10-")]).await;
    assert_eq!((got.status.as_u16(), got.headers["content-range"].to_str().unwrap()), (416, "bytes */10"));
    let error: Value = serde_json::from_slice(&got.body).unwrap();
    assert_eq!(error["error"]["code"], "RANGE_NOT_SATISFIABLE");

    app.state.blobs.erase(id.parse().unwrap()).await.unwrap();
    assert_eq!(app.get(&video, "").await.code(), "NOT_FOUND", "what was erased is gone");
}

#[tokio::test]
async fn a_report_can_be_viewed_and_downloaded() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let queued = app.verify(&key, &[POLICY, SCENARIO, Part::Text("num_episodes", "1")]).await.body;
    assert_eq!(queued["report_url"], json!(null));
    let path = format!("/verify/{}/report", queued["job_id"].as_str().unwrap());
    assert_eq!(app.get(&path, &key).await.code(), "CONFLICT", "there is none yet");
    app.post(&path.replace("/report", "/cancel"), &key).await;

    let id = completed(&app, &key).await;
    let job = app.get(&format!("/verify/{id}"), &key).await.body;
    let path = job["report_url"].as_str().unwrap();
    assert_eq!(path, format!("/verify/{id}/report"));
    let page = fetch(&app, path, &key, &[("accept", "text/html")]).await;
    let text = String::from_utf8(page.body).unwrap();
    assert_eq!(
        (page.status.as_u16(), page.headers["content-type"].to_str().unwrap()),
        (200, "text/html; charset=utf-8")
    );
    assert!(text.contains("<html") && text.contains("/artifacts/") && text.contains(&id));
    assert!(page.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    let document = fetch(&app, &format!("{path}.json"), &key, &[]).await;
    assert_eq!((document.status.as_u16(), document.body.as_slice()), (200, &b"{ \"signed\": true }"[..]), "every byte");

    let stranger = app.key("other", "verify,read").await;
    for path in [path.to_owned(), format!("{path}.json")] {
        assert_eq!(app.get(&path, &stranger).await.code(), "NOT_FOUND");
    }
}

#[tokio::test]
async fn renderings_after_the_verdict_appear_and_change_the_etag() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let created = app.verify(&key, &[POLICY, SCENARIO, Part::Text("num_episodes", "1")]).await;
    let path = format!("/verify/{}", created.body["job_id"].as_str().unwrap());
    let (records, now) = (&app.state.records, app.state.clock.now());
    let claim = records.claim_shard(&ShardRequest::new("w"), now, LEASE).await.unwrap().unwrap();
    let artifact = |name: &str, digit: &str| Artifact {
        name: format!("episodes/000/{name}"),
        sha256: digit.repeat(64).parse().unwrap(),
        size_bytes: 5,
    };
    let mut result = episode(0);
    result.evidence.push(artifact("trace.parquet", "a"));
    result.log_path = Some("episodes/000/trace.parquet".into());
    records.record_episode(claim.fence, result, now).await.unwrap();
    let taken = records.claim_conclusion("w", now, LEASE).await.unwrap().unwrap();
    let found = outcome(&taken.header, &taken.episodes);
    assert!(records.complete_job(taken.fence, found, assay_store_testing::signed(), now).await.unwrap());

    let mut tags = Vec::new();
    for (files, url, stage, done) in [
        (&[][..], "000-trace.parquet", "rendering", 0),
        (&[("log.mcap", "b")][..], "000-log.mcap", "rendering", 0),
        (&[("video.mp4", "c"), ("images.mcap", "d")][..], "000-log.mcap", "done", 1),
    ] {
        if !files.is_empty() {
            let claim = records.claim_render(RenderRequest::new("w"), now, LEASE).await.unwrap().unwrap();
            let files = files.iter().map(|(name, digit)| artifact(name, digit)).collect();
            assert!(records.record_render(claim.fence, files, vec!["a note".into()]).await.unwrap());
        }
        let answer = fetch(&app, &path, &key, &[]).await;
        let job: Value = serde_json::from_slice(&answer.body).unwrap();
        let (progress, episode) = (&job["progress"], &job["episode_details"][0]);
        assert_eq!((&job["status"], &progress["stage"]), (&json!("COMPLETED"), &json!(stage)));
        assert_eq!((&progress["videos_done"], &progress["videos_total"]), (&json!(done), &json!(1)));
        assert!(episode["log_url"].as_str().unwrap().contains(url), "{episode}");
        assert_eq!(episode["log_type"], url.rsplit_once('.').unwrap().1);
        assert_eq!((job["video_url"].is_string(), &job["video_url"]), (done == 1, &episode["video_url"]));
        let listed = app.get("/verify", &key).await.body;
        assert_eq!(listed["jobs"][0]["video_url"], job["video_url"], "the list has it as well");
        tags.push(answer.headers["etag"].to_str().unwrap().to_owned());
    }
    tags.dedup();
    assert_eq!(tags.len(), 3, "a client that has the old answer gets the new one");
    let listed = app.get("/verify", &key).await.body;
    assert_eq!(listed["jobs"][0]["progress"]["videos_total"], 1);
    let page = app.get(&format!("{path}/episodes"), &key).await.body;
    assert_eq!(page["episodes"][0]["evidence_notes"], json!(["a note", "a note"]));
}
