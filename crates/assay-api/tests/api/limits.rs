//! Rate limits, caps of accounts, and the limit of the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_api::{AccountLimits, ApiSettings, DiskLimits, JobLimits, RateLimits, endpoints};
use assay_model::Scopes;
use axum::body::{Body, Bytes};
use futures_util::stream;
use serde_json::json;

use crate::app::{Answer, POLICY, Part, SCENARIO, TestApp, encode, form, request};

/// Limit, remaining and reset.
fn rate_limit(answer: &Answer) -> Option<(u64, u64, i64)> {
    let header = |name: &str| answer.headers.get(name)?.to_str().ok();
    Some((
        header("x-ratelimit-limit")?.parse().unwrap(),
        header("x-ratelimit-remaining")?.parse().unwrap(),
        header("x-ratelimit-reset")?.parse().unwrap(),
    ))
}

#[tokio::test]
async fn every_response_has_rate_limit_headers() {
    let app = TestApp::limited(ApiSettings { rate: RateLimits::all(500), ..ApiSettings::default() });
    let key = app.key("lab", &Scopes::all().to_string()).await;
    let weak = app.key("lab", "review").await;
    // Rotating would revoke the key that asks; what it answers is in `keys.rs`.
    for endpoint in endpoints().into_iter().filter(|e| e.needs_key && e.path != "/keys/rotate") {
        let path = endpoint.path.replace(['{', '}'], "");
        for prefix in ["", "/v1"] {
            for key in [&key, &weak] {
                let sent = request(endpoint.method, &format!("{prefix}{path}"), key).body(Body::empty()).unwrap();
                let answer = app.send(sent).await;
                assert!(rate_limit(&answer).is_some(), "{endpoint:?}: {} {:?}", answer.status, answer.headers);
            }
        }
    }
    for (method, path, status) in [("GET", "/no/such", 404), ("PUT", "/verify", 405), ("POST", "/verify", 415)] {
        let answer = app.send(request(method, path, &key).body(Body::empty()).unwrap()).await;
        assert_eq!((answer.status.as_u16(), rate_limit(&answer).is_some()), (status, true), "{method} {path}");
    }
    for (path, key) in [("/verify", ""), ("/verify", "assay_x_y"), ("/healthz", &key), ("/", "")] {
        assert_eq!(rate_limit(&app.get(path, key).await), None, "{path} counts against no key");
    }
}

#[tokio::test]
async fn a_rate_limit_window_is_used_up_and_renewed() {
    let app = TestApp::limited(ApiSettings::default());
    let (key, other) = (app.key("lab", "read,verify").await, app.key("lab", "read,verify").await);
    // The clock of the tests starts at 1,750,000,000: 40 s into a minute.
    let reset = 1_750_000_000 - 1_750_000_000 % 60 + 60;
    for left in (0..60).rev() {
        let answer = app.get("/verify", &key).await;
        assert_eq!((answer.status.as_u16(), rate_limit(&answer)), (200, Some((60, left, reset))));
    }
    app.clock.forward(3);
    for _ in 0..2 {
        let answer = app.get("/verify", &key).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (429, "RATE_LIMITED"), "{}", answer.body);
        assert_eq!(rate_limit(&answer), Some((60, 0, reset)));
        assert_eq!(answer.headers["retry-after"], "17");
        assert!(answer.message().contains("60 GET requests per minute"), "{}", answer.message());
        let details = &answer.body["error"]["details"];
        assert_eq!((&details["limit"], &details["maximum"]), (&json!("get_per_minute"), &json!(60)));
        assert_eq!(details["frees_at"], json!("2025-06-15T15:07:00Z"));
        assert_eq!(details["frees_when"], json!(null));
    }
    assert_eq!(app.get("/verify", &other).await.status, 200, "another key has its own");
    for left in (0..10).rev() {
        let answer = app.verify(&key, &[SCENARIO]).await;
        assert_eq!(
            (answer.status.as_u16(), rate_limit(&answer)),
            (400, Some((10, left, reset))),
            "what is wrong counts too"
        );
    }
    assert_eq!(app.verify(&key, &[SCENARIO]).await.status, 429);
    app.clock.forward(17);
    assert_eq!(rate_limit(&app.get("/verify", &key).await), Some((60, 59, reset + 60)));
    assert_eq!(app.verify(&key, &[POLICY, SCENARIO]).await.status, 201);
}

#[tokio::test]
async fn pages_have_a_separate_window() {
    let rate = RateLimits { get_per_minute: 1, pages_per_minute: 2, ..RateLimits::default() };
    let app = TestApp::limited(ApiSettings { rate, ..ApiSettings::default() });
    let key = app.key("lab", "read").await;
    assert_eq!(app.get("/verify", &key).await.status, 200);
    for (path, left) in [("/docs", 1), ("/v1/docs/index.html", 0)] {
        let answer = app.get(path, &key).await;
        assert!(answer.status.as_u16() < 400, "{path}: {}", answer.status);
        assert_eq!(rate_limit(&answer).map(|(limit, left, _)| (limit, left)), Some((2, left)), "{path}");
    }
    let refused = app.get("/docs/index.html", &key).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.body["error"]["details"]["limit"]),
        (429, &json!("pages_per_minute"))
    );
    for stranger in ["", "nonsense"] {
        let answer = app.get("/docs/index.html", stranger).await;
        assert_eq!((answer.status.as_u16(), rate_limit(&answer)), (200, None), "no key is needed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_concurrent_requests_get_exactly_the_limit() {
    let app = TestApp::limited(ApiSettings::default());
    let key = app.key("lab", "read").await;
    let ask = |_| {
        let (router, sent) = (app.router.clone(), request("GET", "/scenarios", &key).body(Body::empty()).unwrap());
        tokio::spawn(async move { tower::ServiceExt::oneshot(router, sent).await.unwrap().status().as_u16() })
    };
    let asked: Vec<_> = (0..1000).map(ask).collect();
    let mut answers = Vec::new();
    for one in asked {
        answers.push(one.await.unwrap());
    }
    let count = |status| answers.iter().filter(|answer| **answer == status).count();
    assert_eq!((count(200), count(429)), (60, 940));
}

#[tokio::test]
async fn the_rate_limit_applies_before_the_body_is_read() {
    let rate = RateLimits { verify_per_minute: 1, ..RateLimits::default() };
    let app = TestApp::limited(ApiSettings { rate, ..ApiSettings::default() });
    let key = app.key("lab", "verify").await;
    let (sent, read) = waiting(&key);
    assert_eq!(app.send(sent).await.status, 201);
    assert!(read.load(Ordering::Relaxed));
    let (sent, read) = waiting(&key);
    let answer = app.send(sent).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (429, "RATE_LIMITED"));
    assert_eq!(answer.headers["connection"], "close");
    assert!(!read.load(Ordering::Relaxed), "the body was read");
}

/// A form whose sender waits for the go, and whether it was sent.
fn waiting(key: &str) -> (axum::http::Request<Body>, Arc<AtomicBool>) {
    let read = Arc::new(AtomicBool::new(false));
    let (noted, whole) = (Arc::clone(&read), Bytes::from(encode(&[POLICY, SCENARIO])));
    let body = stream::once(async move {
        noted.store(true, Ordering::Relaxed);
        Ok::<_, std::io::Error>(whole)
    });
    // Who waits for the go has not sent anything, so nothing is drained either.
    let sent = request("POST", "/verify", key).header("content-type", "multipart/form-data; boundary=XyZ");
    (sent.header("expect", "100-continue").body(Body::from_stream(body)).unwrap(), read)
}

#[tokio::test]
async fn an_error_names_the_cap_and_what_to_do() {
    let account = AccountLimits { active_jobs: 2, jobs_per_day: 3, ..AccountLimits::default() };
    let app = TestApp::with(ApiSettings { account, ..ApiSettings::default() });
    let (key, other) = (app.key("lab", "verify,read").await, app.key("other", "verify").await);
    let first = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    assert_eq!(app.verify(&key, &[POLICY, SCENARIO]).await.status, 201);
    let (sent, read) = waiting(&key);
    let answer = app.send(sent).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (429, "RATE_LIMITED"), "{}", answer.body);
    assert!(!read.load(Ordering::Relaxed), "the body was read");
    let details = json!({ "limit": "active_jobs", "maximum": 2, "current": 2, "frees_at": null,
                          "frees_when": "when one of your account's jobs ends" });
    assert_eq!(answer.body["error"]["details"], details);
    assert_eq!(answer.headers["retry-after"], "30");
    assert!(answer.message().contains("2 jobs that have not ended, of 2"), "{}", answer.message());
    assert_eq!(app.verify(&other, &[POLICY, SCENARIO]).await.status, 201, "an account's own");

    assert_eq!(app.post(&format!("/verify/{first}/cancel"), &key).await.status, 200);
    assert_eq!(app.verify(&key, &[POLICY, SCENARIO]).await.status, 201);
    let answer = app.verify(&key, &[POLICY, SCENARIO]).await;
    let details = &answer.body["error"]["details"];
    assert_eq!((&details["limit"], &details["maximum"]), (&json!("jobs_per_day"), &json!(3)), "{}", answer.body);
    assert_eq!(details["frees_at"], json!("2025-06-16T00:00:00Z"));
    assert_eq!(answer.headers["retry-after"], "32000");
}

#[tokio::test]
async fn the_size_of_a_job_counts_before_it_is_accepted() {
    // The scenario takes 10 s, and there are 3 episodes unless more are asked for.
    let account = AccountLimits { queued_sim_s: 50, disk_mib: 1, ..AccountLimits::default() };
    let app = TestApp::with(ApiSettings { account, ..ApiSettings::default() });
    let key = app.key("lab", "verify,read").await;
    let verify = async |content: &[u8], episodes: &str| {
        let parts = [Part::File("policy", "p.zip", content), SCENARIO, Part::Text("num_episodes", episodes)];
        let answer = app.verify(&key, &parts).await;
        (answer.status.as_u16(), answer.body["error"]["details"]["limit"].as_str().unwrap_or_default().to_owned())
    };
    let small = [b"PK".to_vec(), vec![0; 400 << 10]].concat();
    let large = [b"PK".to_vec(), vec![1; 700 << 10]].concat();
    assert_eq!(verify(&small, "3").await, (201, String::new()));
    assert_eq!(verify(&small, "3").await, (429, "queued_sim_s".into()));
    assert_eq!(verify(&large, "1").await, (429, "stored_bytes".into()));
    assert_eq!(verify(&small, "2").await, (201, String::new()), "the same archive needs no more room");
    let kept = std::fs::read_dir(app.folder.path().join("policies")).unwrap().count();
    assert_eq!(kept, 1, "an archive that was not accepted is not kept, another job's is");
    assert_eq!(app.leftovers(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_jobs_are_accepted_exactly_up_to_the_cap() {
    let account = AccountLimits { active_jobs: 7, uploads: 1000, ..AccountLimits::default() };
    let app = Arc::new(TestApp::with(ApiSettings { account, ..ApiSettings::default() }));
    let key = app.key("lab", "verify,read").await;
    let ask = |_| {
        let (app, key) = (Arc::clone(&app), key.clone());
        tokio::spawn(async move { app.verify(&key, &[POLICY, SCENARIO]).await.status.as_u16() })
    };
    let asked: Vec<_> = (0..200).map(ask).collect();
    let mut answers = Vec::new();
    for one in asked {
        answers.push(one.await.unwrap());
    }
    let count = |status| answers.iter().filter(|answer| **answer == status).count();
    assert_eq!((count(201), count(429)), (7, 193), "{answers:?}");
    assert_eq!(app.get("/verify", &key).await.body["total"], json!(7));
    assert_eq!(app.leftovers(), 0);
}

#[tokio::test]
async fn a_job_cannot_exceed_its_cpu_budget() {
    let job = JobLimits { cpu_s: 2000, ..JobLimits::default() };
    let app = TestApp::with(ApiSettings { job, ..ApiSettings::default() });
    let key = app.key("lab", "verify").await;
    // An episode of cartpole_keepin: its steps at 1 s, the first one and the import beside.
    let answer = app.verify(&key, &[POLICY, SCENARIO, Part::Text("num_episodes", "1000")]).await;
    assert_eq!((answer.status.as_u16(), &answer.body["error"]["details"]["field"]), (400, &json!("num_episodes")));
    let most = answer.message().split(' ').nth(2).unwrap().to_owned();
    assert_eq!(app.verify(&key, &[POLICY, SCENARIO, Part::Text("num_episodes", &most)]).await.status, 201);
    let more = (most.parse::<u32>().unwrap() + 1).to_string();
    assert_eq!(app.verify(&key, &[POLICY, SCENARIO, Part::Text("num_episodes", &more)]).await.status, 400);
}

#[tokio::test]
async fn jobs_on_published_scenarios_and_submissions_cannot_exceed_their_cpu_budget() {
    let spec = TestApp::new().state.catalog.spec(&"cartpole_keepin".parse().unwrap()).unwrap();
    let job = JobLimits { cpu_s: 3 * spec.episode_cpu_s, ..JobLimits::default() };
    let app = TestApp::with(ApiSettings { job, ..ApiSettings::default() });
    let key = app.key("lab", "verify,publish,submit").await;
    let archive = [Part::File("scenario", "s.zip", b"reach 1.0.0")];
    assert_eq!(app.send(form(request("POST", "/community/scenarios", &key), &archive)).await.status, 201);
    for (episodes, status) in [("3", 201), ("4", 400)] {
        let parts = [POLICY, Part::Text("scenario", "lab.reach"), Part::Text("num_episodes", episodes)];
        let answer = app.verify(&key, &parts).await;
        assert_eq!(answer.status.as_u16(), status, "{episodes}: {}", answer.body);
    }
    // Three episodes of the season, and the showcase.
    let parts = [POLICY, Part::Text("scenario_id", "cartpole_keepin")];
    let answer = app.submit(&key, &parts).await;
    assert_eq!((answer.status.as_u16(), &answer.body["error"]["details"]["field"]), (400, &json!("scenario_id")));
    assert!(answer.message().starts_with("a submission has 4 episodes, but at most 3 "), "{}", answer.message());
    assert_eq!(app.leftovers(), 0);
}

#[tokio::test]
async fn uploads_are_rejected_when_the_disk_is_nearly_full() {
    let disk = DiskLimits { min_free_mib: 1 << 40, ..DiskLimits::default() };
    let app = TestApp::with(ApiSettings { disk, ..ApiSettings::default() });
    app.state.readiness.set(Ok(()));
    let key = app.key("lab", "verify,read").await;
    for path in ["/verify", "/preflight"] {
        let sent = request("POST", path, &key).header("content-type", "multipart/form-data; boundary=XyZ");
        let answer = app.send(sent.body(Body::from(encode(&[POLICY, SCENARIO]))).unwrap()).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (503, "UNAVAILABLE"), "{path}: {}", answer.body);
        assert_eq!(answer.headers["retry-after"], "60");
        assert!(answer.message().contains("disk is nearly full"), "{}", answer.message());
    }
    assert_eq!(app.leftovers(), 0);
    let ready = app.get("/readyz", "").await;
    assert_eq!(ready.status, 503);
    assert!(ready.message().contains("disk is nearly full"), "{}", ready.message());
    assert_eq!(app.get("/verify", &key).await.status, 200, "what is there can be read");
    assert_eq!(app.post("/verify/nothing/cancel", &key).await.status, 404, "and stopped");
}
