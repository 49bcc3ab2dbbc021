//! HTTP features: conditional requests, compression, request ids, OPTIONS and HEAD.

use assay_api::endpoints;
use axum::body::Body;
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::app::{TestApp, request};

#[tokio::test]
async fn unknown_query_parameters_are_named_in_a_warning() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    for known in ["/verify", "/verify?limit=5&envelope=true", "/leaderboard?scenario=tabletop_reach", "/scenarios?"] {
        let answer = app.get(known, &key).await;
        assert!(!answer.headers.contains_key("warning"), "{known}: {:?}", answer.headers);
    }
    for (path, names) in [
        ("/verify?limit=5&limt=5", "limt"),
        ("/v1/submissions?state=DONE&a%22%0d%0ab=1", "a%22%0D%0Ab, state"),
        ("/scenarios/nothing?x=1", "x"),
    ] {
        let warning = app.get(path, &key).await.headers["warning"].clone();
        let expected = format!("299 assay \"unknown query parameters, without effect: {names}\"");
        assert_eq!(warning.to_str().unwrap(), expected, "{path}");
    }
    let many: Vec<String> = (0..100).map(|i| format!("{}{i}=1", "n".repeat(100))).collect();
    let warning = app.get(&format!("/verify?{}", many.join("&")), &key).await.headers["warning"].clone();
    assert!(warning.len() < 300, "{warning:?}");
}

#[tokio::test]
async fn unchanged_responses_are_not_sent_again() {
    let app = TestApp::new();
    let key = app.key("lab", "read,verify").await;
    let id = app.completed(&key, 1).await;
    let done = format!("/verify/{id}");
    let mut paths = vec![done.as_str()];
    let cacheable = endpoints();
    paths.extend(cacheable.iter().filter(|e| e.cacheable && !e.path.contains('{')).map(|e| e.path));
    paths.extend(["/scenarios/tabletop_reach", "/scenarios/tabletop_reach/spec", "/collections/small"]);
    assert!(paths.len() > 7);
    for path in paths {
        let first = app.get(path, &key).await;
        assert_eq!(first.status, 200, "{path}");
        assert_eq!(first.headers["cache-control"], "private, no-cache", "{path}");
        let tag = first.headers["etag"].to_str().unwrap();
        for known in [tag.to_owned(), format!("\"other\", {}", tag.trim_start_matches("W/")), "*".to_owned()] {
            let again = request("GET", path, &key).header("if-none-match", &known);
            let again = app.send(again.body(Body::empty()).unwrap()).await;
            assert_eq!((again.status.as_u16(), again.body.is_null()), (304, true), "{path} {known}");
            assert_eq!(again.headers["etag"], tag, "{path}");
        }
        let changed = request("GET", path, &key).header("if-none-match", "\"other\"");
        assert_eq!(app.send(changed.body(Body::empty()).unwrap()).await.status, 200, "{path}");
    }
    // With time its addresses expire, and a job in the client's hands is worth no more than they.
    let tag = app.get(&done, &key).await.headers["etag"].clone();
    app.clock.forward(301);
    let again = request("GET", &done, &key).header("if-none-match", tag);
    assert_eq!(app.send(again.body(Body::empty()).unwrap()).await.status, 200);
    let open = app.verify(&key, &[crate::app::POLICY, crate::app::SCENARIO]).await.body["job_id"].clone();
    let open = app.get(&format!("/verify/{}", open.as_str().unwrap()), &key).await;
    assert!(!open.headers.contains_key("etag"));
    assert_eq!(open.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn long_responses_are_compressed_if_the_client_accepts_it() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    for (path, accepted, coding) in [
        ("/openapi.json", "gzip", Some("gzip")),
        ("/openapi.json", "zstd, gzip;q=0.5", Some("zstd")),
        ("/openapi.json", "identity", None),
        ("/healthz", "gzip", None),
    ] {
        let request = request("GET", path, &key).header("accept-encoding", accepted).body(Body::empty()).unwrap();
        let response = app.router.clone().oneshot(request).await.unwrap();
        let found = response.headers().get("content-encoding").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(found.as_deref(), coding, "{path} {accepted}");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        match coding {
            Some("gzip") => assert!(body.starts_with(&[0x1f, 0x8b])),
            Some(_) => assert!(body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])),
            None => assert!(body.starts_with(b"{")),
        }
    }
}

#[tokio::test]
async fn a_clients_request_id_is_used_if_it_is_a_uuid() {
    let app = TestApp::new();
    let own = "0192f1de-8c3b-7f00-8000-0123456789ab";
    for (given, taken) in [(own, true), ("../../etc", false), ("1", false), ("", false)] {
        let answer =
            app.send(request("GET", "/verify", "").header("x-request-id", given).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.headers["x-request-id"] == own, taken, "{given:?}");
        assert_eq!(answer.body["error"]["request_id"].as_str().unwrap(), answer.headers["x-request-id"]);
    }
}

#[tokio::test]
async fn options_lists_the_methods_and_head_has_no_body() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    let answer = app.send(request("OPTIONS", "/verify", &key).body(Body::empty()).unwrap()).await;
    let allow = answer.headers["allow"].to_str().unwrap();
    assert_eq!(answer.status, 204);
    assert!(["GET", "HEAD", "POST"].iter().all(|method| allow.contains(method)), "{allow}");
    assert_eq!(app.send(request("OPTIONS", "/verify", "").body(Body::empty()).unwrap()).await.status, 401);
    let (get, head) = (app.get("/scenarios", &key).await, request("HEAD", "/scenarios", &key));
    let head = app.send(head.body(Body::empty()).unwrap()).await;
    assert_eq!((head.status.as_u16(), head.body.is_null()), (200, true));
    assert_eq!(head.headers["etag"], get.headers["etag"]);
}
