//! Archives of jobs, and who may read what of a closed season.

use std::io::{Cursor, Read};

use assay_model::{Artifact, EpisodeResult, Sha256Digest};
use assay_store::VersionSource;
use assay_store_testing::episode;
use assay_testkit::PATIENCE;
use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;
use zip::{CompressionMethod, ZipArchive};

use crate::app::{POLICY, Part, SCENARIO, TestApp, ZIP, request};

/// A file of evidence of each episode, longer than what is read at once.
fn content(index: u32) -> Vec<u8> {
    (index..50_000 + index).flat_map(|position| position.wrapping_mul(31).to_le_bytes()).collect()
}

fn result(index: u32) -> EpisodeResult {
    let name = format!("episodes/{index:03}/trace.parquet");
    let file = |content: &[u8], name: String| Artifact {
        name,
        sha256: Sha256Digest::of(content),
        size_bytes: content.len() as u64,
    };
    let empty = file(b"", format!("episodes/{index:03}/empty"));
    EpisodeResult { evidence: vec![empty, file(&content(index), name)], ..episode(index) }
}

/// Stores the evidence of a job's episodes.
async fn store(app: &TestApp, id: &str, episodes: u32) {
    for index in 0..episodes {
        for content in [content(index), Vec::new()] {
            let file = app.folder.path().join("evidence");
            std::fs::write(&file, &content).unwrap();
            app.state.blobs.put(id.parse().unwrap(), Sha256Digest::of(&content), &file).await.unwrap();
            std::fs::remove_file(file).unwrap();
        }
    }
}

/// Creates a verification of two episodes with evidence.
async fn verified(app: &TestApp, key: &str) -> String {
    let made = app.verify(key, &[POLICY, SCENARIO, Part::Text("num_episodes", "2")]).await;
    let id = made.body["job_id"].as_str().unwrap().to_owned();
    store(app, &id, 2).await;
    app.work(result).await;
    id
}

/// A downloaded archive.
struct Downloaded {
    headers: axum::http::HeaderMap,
    zip: ZipArchive<Cursor<Vec<u8>>>,
}

impl Downloaded {
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.zip.file_names().map(|name| name.unwrap().into_owned()).collect();
        names.sort_unstable();
        names
    }

    fn has(&self, name: &str) -> bool {
        self.names().iter().any(|found| found == name)
    }

    fn read(&mut self, name: &str) -> Vec<u8> {
        let mut file = self.zip.by_name(name).unwrap();
        assert_eq!(file.compression(), CompressionMethod::Stored, "{name}");
        let mut content = Vec::new();
        // The reader compares the checksum.
        file.read_to_end(&mut content).unwrap();
        content
    }
}

async fn download(app: &TestApp, path: &str, key: &str) -> Downloaded {
    let wanted = request("GET", path, key).header("accept-encoding", "gzip, zstd").header("range", "bytes=0-9");
    let response = app.router.clone().oneshot(wanted.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes().to_vec();
    let headers = parts.headers;
    assert_eq!(headers["content-length"], bytes.len().to_string(), "{path}");
    Downloaded { headers, zip: ZipArchive::new(Cursor::new(bytes)).unwrap() }
}

#[tokio::test]
async fn an_archive_has_everything_about_a_job() {
    let app = TestApp::new();
    let (key, reviewer) = (app.key("lab", "verify,read").await, app.key("jury", "read,review").await);
    let stranger = app.key("other", "verify,read").await;
    let id = verified(&app, &key).await;
    let scenario = app.folder.path().join("source");
    std::fs::create_dir_all(scenario.join("assets")).unwrap();
    std::fs::write(scenario.join("scenario.toml"), "a scenario").unwrap();
    std::fs::write(scenario.join("assets/mesh.obj"), "a mesh").unwrap();
    let source = VersionSource { scenario: &scenario, robots: &[("arm", scenario.as_path())].into(), picture: None };
    app.state.scenario_files.keep(Sha256Digest::new([0xab; 32]), source).unwrap();

    let path = format!("/verify/{id}/archive");
    let mut archive = download(&app, &path, &key).await;
    let headers = &archive.headers;
    assert_eq!(
        (&headers["content-type"], &headers["accept-ranges"]),
        (&"application/zip".parse().unwrap(), &"none".parse().unwrap())
    );
    assert_eq!(headers["content-disposition"], format!("attachment; filename=\"assay-{id}.zip\""));
    assert!(!headers.contains_key("content-encoding"), "{headers:?}");
    let documents = ["report.json", "report.intoto.json", "report.html"];
    let scenario = [
        "scenario/assets/mesh.obj",
        "scenario/scenario.toml",
        "robots/arm/assets/mesh.obj",
        "robots/arm/scenario.toml",
    ];
    let evidence =
        ["episodes/000/empty", "episodes/000/trace.parquet", "episodes/001/empty", "episodes/001/trace.parquet"];
    let sorted = |names: &[&[&str]]| {
        let mut names: Vec<String> = names.concat().into_iter().map(str::to_owned).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(archive.names(), sorted(&[&documents, &scenario, &["policy.zip"], &evidence]));
    assert_eq!(archive.read("policy.zip"), ZIP);
    assert_eq!(
        (archive.read("scenario/scenario.toml"), archive.read("robots/arm/assets/mesh.obj")),
        (b"a scenario".to_vec(), b"a mesh".to_vec())
    );
    assert_eq!(
        (archive.read("episodes/001/trace.parquet"), archive.read("episodes/000/empty")),
        (content(1), Vec::new())
    );
    let report = app.get(&format!("/verify/{id}/report.json"), &key).await.body;
    assert_eq!(serde_json::from_slice::<Value>(&archive.read("report.json")).unwrap(), report);
    let page = String::from_utf8(archive.read("report.html")).unwrap();
    assert!(page.contains("<html") && !page.contains("/artifacts/"), "its links are paths in the archive");

    let short = download(&app, &format!("{path}?evidence=false"), &key).await;
    assert_eq!(short.names(), sorted(&[&documents, &scenario, &["policy.zip"]]));
    let reviewed = download(&app, &path, &reviewer).await;
    assert!(!reviewed.has("policy.zip") && reviewed.has(evidence[1]), "the policy is its owner's");
    for (path, key, status) in [(path.as_str(), &stranger, 404), (&format!("{path}?evidence=no"), &key, 400)] {
        assert_eq!(app.get(path, key).await.status, status, "{path}");
    }
    let running = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    assert_eq!(app.get(&format!("/verify/{running}/archive"), &key).await.code(), "CONFLICT");
    let now = app.state.clock.now();
    let job = id.parse().unwrap();
    app.state.records.drop_evidence(job, now).await.unwrap();
    assert_eq!(app.get(&path, &key).await.code(), "GONE");
}

#[tokio::test]
async fn an_account_has_one_download_at_a_time_and_gives_it_back() {
    let app = TestApp::new();
    let (key, other) = (app.key("lab", "verify,read").await, app.key("other", "verify,read").await);
    let (id, others) = (verified(&app, &key).await, verified(&app, &other).await);
    let path = format!("/verify/{id}/archive");
    // A client that does not read.
    let open = app.router.clone().oneshot(request("GET", &path, &key).body(Body::empty()).unwrap()).await.unwrap();
    let refused = app.get(&path, &key).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (429, "RATE_LIMITED"), "{}", refused.body);
    assert_eq!(refused.body["error"]["details"]["limit"], json!("downloads"));
    assert!(refused.headers.contains_key("retry-after"));
    download(&app, &format!("/verify/{others}/archive"), &other).await;
    drop(open);
    let free = async {
        while app.get(&path, &key).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, free).await.expect("a slot that is given back");
}

#[tokio::test]
async fn a_file_that_changed_interrupts_the_archive() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let made = app.verify(&key, &[POLICY, SCENARIO, Part::Text("num_episodes", "1")]).await;
    let id = made.body["job_id"].as_str().unwrap().to_owned();
    // Its evidence was never stored.
    app.work(result).await;
    let wanted = request("GET", &format!("/verify/{id}/archive"), &key).body(Body::empty()).unwrap();
    let response = app.router.clone().oneshot(wanted).await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.into_body().collect().await.is_err(), "the client sees that something is missing");
}

#[tokio::test]
async fn every_key_reads_the_entries_of_a_closed_season() {
    let app = TestApp::new();
    let (owner, stranger) = (app.key("lab", "read,submit").await, app.key("other", "read").await);
    let id = app.submission(&owner).await;
    store(&app, &id, 4).await;
    app.work(result).await;
    app.publish();
    let unfinished = app.submission(&owner).await;
    let readable = ["/report", "/report.json", "/episodes", "/attestation", "/archive"];
    for below in readable {
        let path = format!("/submissions/{id}{below}");
        assert_eq!(app.get(&path, &stranger).await.status, 404, "{below} while the season is open");
    }
    app.close_season_after(&[&id], result).await;
    let runs = ["", "?run=closing"];
    for (below, run) in readable.iter().flat_map(|below| runs.map(|run| (below, run))) {
        if (*below, run) == ("/archive", "?run=closing") {
            continue;
        }
        let (of_owner, of_other) = (
            app.get(&format!("/submissions/{id}{below}{run}"), &owner).await,
            app.get(&format!("/submissions/{id}{below}{run}"), &stranger).await,
        );
        assert_eq!((of_owner.status.as_u16(), of_other.status.as_u16()), (200, 200), "{below}{run}: {}", of_other.body);
        let missing = app.get(&format!("/submissions/{unfinished}{below}{run}"), &stranger).await;
        assert_eq!(missing.status, 404, "{below}{run} of one that was cancelled");
    }
    let episodes = app.get(&format!("/submissions/{id}/episodes"), &stranger).await.body;
    let file = &episodes["episodes"][1]["evidence"][1];
    let bytes = app.get(file["url"].as_str().unwrap(), "").await;
    assert_eq!(
        (bytes.status.as_u16(), bytes.headers["content-length"].to_str().unwrap()),
        (200, file["size_bytes"].to_string().as_str())
    );
    let path = format!("/submissions/{id}/archive");
    assert!(download(&app, &path, &owner).await.has("policy.zip"));
    assert!(!download(&app, &path, &stranger).await.has("policy.zip"));

    // What changes it, or costs time of the service, stays its owner's.
    let submitter = app.key("other", "read,submit").await;
    for (method, below) in [("GET", ""), ("GET", "/events"), ("POST", "/replay"), ("POST", "/choose"), ("DELETE", "")] {
        let wanted = request(method, &format!("/submissions/{id}{below}"), &submitter).body(Body::empty()).unwrap();
        assert_eq!(app.send(wanted).await.status, 404, "{method} {below}");
    }
    let erased = request("DELETE", &format!("/submissions/{id}"), &owner).body(Body::empty()).unwrap();
    assert_eq!(app.send(erased).await.status, 204);
    for below in readable {
        assert_eq!(app.get(&format!("/submissions/{id}{below}"), &stranger).await.code(), "GONE", "{below}");
    }
}
