//! How often a key may ask, and when the disk counts as full.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_api::{ApiSettings, DiskLimits, RateLimits, endpoints};
use assay_model::Scopes;
use axum::body::{Body, Bytes};
use futures_util::stream;
use serde_json::json;

use crate::app::{Answer, POLICY, SCENARIO, TestApp, encode, request};

/// Limit, remaining and reset.
fn told(answer: &Answer) -> Option<(u64, u64, i64)> {
    let header = |name: &str| answer.headers.get(name)?.to_str().ok();
    Some((
        header("x-ratelimit-limit")?.parse().unwrap(),
        header("x-ratelimit-remaining")?.parse().unwrap(),
        header("x-ratelimit-reset")?.parse().unwrap(),
    ))
}

#[tokio::test]
async fn every_answer_to_a_key_tells_where_it_stands() {
    let app = TestApp::limited(ApiSettings { rate: RateLimits::all(500), ..ApiSettings::default() });
    let key = app.key("lab", &Scopes::all().to_string()).await;
    let weak = app.key("lab", "review").await;
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.scope.is_some()) {
        let path = endpoint.path.replace(['{', '}'], "");
        for prefix in ["", "/v1"] {
            for key in [&key, &weak] {
                let sent = request(endpoint.method, &format!("{prefix}{path}"), key).body(Body::empty()).unwrap();
                let answer = app.send(sent).await;
                assert!(told(&answer).is_some(), "{endpoint:?}: {} {:?}", answer.status, answer.headers);
            }
        }
    }
    for (method, path, status) in [("GET", "/no/such", 404), ("PUT", "/verify", 405), ("POST", "/verify", 415)] {
        let answer = app.send(request(method, path, &key).body(Body::empty()).unwrap()).await;
        assert_eq!((answer.status.as_u16(), told(&answer).is_some()), (status, true), "{method} {path}");
    }
    for (path, key) in [("/verify", ""), ("/verify", "assay_x_y"), ("/healthz", &key), ("/", "")] {
        assert_eq!(told(&app.get(path, key).await), None, "{path} counts against no key");
    }
}

#[tokio::test]
async fn a_window_is_used_up_and_comes_again() {
    let app = TestApp::limited(ApiSettings::default());
    let (key, other) = (app.key("lab", "read,verify").await, app.key("lab", "read,verify").await);
    // The clock of the tests starts at 1,750,000,000: 40 s into a minute.
    let reset = 1_750_000_000 - 1_750_000_000 % 60 + 60;
    for left in (0..60).rev() {
        let answer = app.get("/verify", &key).await;
        assert_eq!((answer.status.as_u16(), told(&answer)), (200, Some((60, left, reset))));
    }
    app.clock.forward(3);
    for _ in 0..2 {
        let answer = app.get("/verify", &key).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (429, "RATE_LIMITED"), "{}", answer.body);
        assert_eq!(told(&answer), Some((60, 0, reset)));
        assert_eq!(answer.headers["retry-after"], "17");
        assert!(answer.message().contains("60 GET requests a minute"), "{}", answer.message());
        let details = &answer.body["error"]["details"];
        assert_eq!((&details["limit"], &details["maximum"]), (&json!("get_per_minute"), &json!(60)));
        assert_eq!(details["frees_at"], json!("2025-06-15T15:07:00Z"));
    }
    assert_eq!(app.get("/verify", &other).await.status, 200, "another key has its own");
    for left in (0..10).rev() {
        let answer = app.verify(&key, &[SCENARIO]).await;
        assert_eq!((answer.status.as_u16(), told(&answer)), (400, Some((10, left, reset))), "what is wrong counts too");
    }
    assert_eq!(app.verify(&key, &[SCENARIO]).await.status, 429);
    app.clock.forward(17);
    assert_eq!(told(&app.get("/verify", &key).await), Some((60, 59, reset + 60)));
    assert_eq!(app.verify(&key, &[POLICY, SCENARIO]).await.status, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_at_once_get_exactly_the_limit() {
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
async fn the_limit_is_decided_before_the_body() {
    let rate = RateLimits { verify_per_minute: 1, ..RateLimits::default() };
    let app = TestApp::limited(ApiSettings { rate, ..ApiSettings::default() });
    let key = app.key("lab", "verify").await;
    let read = Arc::new(AtomicBool::new(false));
    let send = async || {
        let (noted, whole) = (Arc::clone(&read), Bytes::from(encode(&[POLICY, SCENARIO])));
        let body = stream::once(async move {
            noted.store(true, Ordering::Relaxed);
            Ok::<_, std::io::Error>(whole)
        });
        let sent = request("POST", "/verify", &key).header("content-type", "multipart/form-data; boundary=XyZ");
        // Who waits for the go has not sent anything, so nothing is drained either.
        app.send(sent.header("expect", "100-continue").body(Body::from_stream(body)).unwrap()).await
    };
    assert_eq!(send().await.status, 201);
    assert!(read.swap(false, Ordering::Relaxed));
    let answer = send().await;
    assert_eq!((answer.status.as_u16(), answer.code()), (429, "RATE_LIMITED"));
    assert_eq!(answer.headers["connection"], "close");
    assert!(!read.load(Ordering::Relaxed), "the body was read");
}

#[tokio::test]
async fn a_disk_that_is_nearly_full_takes_nothing_in() {
    let disk = DiskLimits { min_free_mib: 1 << 40 };
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
