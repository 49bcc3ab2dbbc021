//! Requests with an idempotency key are executed once.

use assay_api::{EndpointInfo, endpoints};
use assay_model::Scopes;
use assay_store::RESPONSE_LIFETIME;
use assay_testkit::PATIENCE;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::app::{Answer, POLICY, Part, SCENARIO, SERVER, TestApp, ZIP, form, request};

const ARENA: Part<'_> = Part::Text("scenario_id", "cartpole_keepin");

fn keyed(path: &str, key: &str, name: &str) -> axum::http::request::Builder {
    request("POST", path, key).header("idempotency-key", name)
}

async fn verify(app: &TestApp, key: &str, name: &str, parts: &[Part<'_>]) -> Answer {
    app.send(form(keyed("/verify", key, name), parts)).await
}

fn json_request(path: &str, key: &str, name: &str, body: &str) -> Request<Body> {
    let request = keyed(path, key, name).header("content-type", "application/json");
    request.body(Body::from(body.to_owned())).unwrap()
}

async fn total(app: &TestApp, key: &str) -> Value {
    app.get("/verify", key).await.body["total"].clone()
}

#[track_caller]
fn same(first: &Answer, again: &Answer) {
    assert_eq!(first.status, again.status, "{}", again.body);
    assert_eq!(first.body, again.body);
    assert_eq!(first.headers.get("location"), again.headers.get("location"));
    assert!(!first.headers.contains_key("idempotency-replayed"));
    assert_eq!(again.headers["idempotency-replayed"], "true");
}

#[track_caller]
fn conflict(answer: &Answer) {
    assert_eq!((answer.status.as_u16(), answer.code()), (409, "CONFLICT"), "{}", answer.body);
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_response() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let first = verify(&app, &key, "one", &[POLICY, SCENARIO]).await;
    assert_eq!((first.status.as_u16(), &first.body["queue_position"]), (201, &json!(1)), "{}", first.body);
    app.clock.forward(1800);
    // The order of parts, their packing and the archive's name do not matter.
    let renamed = Part::File("policy", "again.zip", ZIP);
    let again = verify(&app, &key, "one", &[SCENARIO, renamed]).await;
    same(&first, &again);
    let wrapped = app.send(form(keyed("/v1/verify?envelope=true", &key, "one"), &[POLICY, SCENARIO])).await;
    assert_eq!(wrapped.body["data"], first.body);
    assert_eq!(total(&app, &key).await, 1);
    assert_eq!(app.leftovers(), 0);

    for other in [
        [Part::File("policy", "grasp.zip", b"PK\x03\x04 another archive"), SCENARIO].as_slice(),
        &[POLICY, Part::Text("scenario", "tabletop_reach")],
        &[POLICY, SCENARIO, Part::Text("seed", "1")],
        &[POLICY, Part::Text("scenario_id", "cartpole_keepin")],
    ] {
        conflict(&verify(&app, &key, "one", other).await);
    }
    conflict(&app.send(json_request("/verify/x/replay", &key, "one", "{}")).await);
    assert_eq!(verify(&app, &key, "two", &[POLICY, SCENARIO]).await.status, 201);
    let other = app.key("other", "verify,read").await;
    assert_eq!(verify(&app, &other, "one", &[POLICY, SCENARIO]).await.status, 201);
    assert_eq!((total(&app, &key).await, total(&app, &other).await), (json!(2), json!(1)));
}

#[tokio::test]
async fn a_policy_servers_key_is_part_of_the_request() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let with = |secret: &'static str| [SERVER, SCENARIO, Part::Text("policy_api_key", secret)];
    let first = verify(&app, &key, "one", &with("k-1")).await;
    assert_eq!(first.status, 201, "{}", first.body);
    same(&first, &verify(&app, &key, "one", &with("k-1")).await);
    conflict(&verify(&app, &key, "one", &with("k-2")).await);
}

#[tokio::test]
async fn idempotency_keys_expire_after_a_day() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let first = verify(&app, &key, "one", &[POLICY, SCENARIO]).await;
    app.clock.forward(RESPONSE_LIFETIME.as_secs());
    let key = app.key("lab", "verify,read").await;
    let again = verify(&app, &key, "one", &[POLICY, SCENARIO]).await;
    assert_eq!(again.status, 201);
    assert_ne!(first.body["job_id"], again.body["job_id"]);
}

#[tokio::test]
async fn two_concurrent_requests_create_one_job() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let requests = (0..8).map(|_| verify(&app, &key, "one", &[POLICY, SCENARIO]));
    let answers = futures_util::future::join_all(requests).await;
    let done: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
    assert!(!done.is_empty());
    assert!(done.iter().all(|answer| answer.body["job_id"] == done[0].body["job_id"]));
    answers.iter().filter(|answer| answer.status != 201).for_each(conflict);
    assert_eq!(total(&app, &key).await, 1);
    assert_eq!(app.leftovers(), 0);
}

#[tokio::test]
async fn a_rejected_request_releases_its_key() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let wrong = verify(&app, &key, "one", &[POLICY, Part::Text("scenario", "nowhere")]).await;
    assert_eq!(wrong.status, 400);
    let mut right = verify(&app, &key, "one", &[POLICY, SCENARIO]).await;
    // It is freed beside the answer.
    let until = std::time::Instant::now() + PATIENCE;
    while right.status == 409 && std::time::Instant::now() < until {
        tokio::task::yield_now().await;
        right = verify(&app, &key, "one", &[POLICY, SCENARIO]).await;
    }
    assert_eq!(right.status, 201, "{}", right.body);
}

#[tokio::test]
async fn a_new_keys_secret_is_shown_once() {
    let app = TestApp::new();
    let admin = app.key("lab", "admin,read").await;
    let payload = |body: &str| json_request("/keys", &admin, "one", body);
    let first = app.send(payload(r#"{"name": "ci", "scopes": ["read"]}"#)).await;
    let again = app.send(payload(r#"{ "scopes": ["read"],  "name": "ci" }"#)).await;
    assert!(first.body["key"].as_str().unwrap().starts_with("assay_"));
    assert_eq!((again.status.as_u16(), &again.body["key"]), (201, &Value::Null));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let without = |mut body: Value| {
        body.as_object_mut().unwrap().remove("key");
        body
    };
    assert_eq!(without(first.body), without(again.body));
    assert_eq!(app.get("/keys", &admin).await.body["keys"].as_array().unwrap().len(), 2);
    conflict(&app.send(payload(r#"{"name": "ci", "scopes": []}"#)).await);
}

#[tokio::test]
async fn the_format_of_idempotency_keys_is_checked() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let longest = "k".repeat(255);
    for name in ["", "two words", "k\u{e4}", &"k".repeat(256)] {
        let answer = verify(&app, &key, name, &[POLICY, SCENARIO]).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["error"]["details"]["field"]),
            (400, &json!("Idempotency-Key"))
        );
    }
    assert_eq!(verify(&app, &key, &longest, &[POLICY, SCENARIO]).await.status, 201);
    let twice = keyed("/verify", &key, "one").header("idempotency-key", "two");
    assert_eq!(app.send(form(twice, &[POLICY, SCENARIO])).await.status, 400);
}

/// Each POST of the table; one that is not tried here fails the test.
#[tokio::test]
async fn every_post_is_executed_once() {
    let app = TestApp::new();
    let key = app.key("lab", &Scopes::all().to_string()).await;
    let id = app.completed(&key, 1).await;
    let (submitted, waiting) = (app.submitted(&key).await, app.submission(&key).await);
    let open = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    let connects = app.verify(&key, &[Part::Text("connect", "true"), SCENARIO]).await.body;
    let connects = connects["job_id"].as_str().unwrap();
    // Rotating revokes the key that asks, so the second request can't be the same; `keys.rs` tries it.
    let is_tried = |e: &EndpointInfo| e.method == "POST" && e.needs_key && e.path != "/keys/rotate";
    let mut posts: Vec<_> = endpoints().into_iter().filter(is_tried).collect();
    // Only in a closed season, which the others need open.
    posts.sort_by_key(|e| e.path == "/submissions/{id}/replay");
    for endpoint in posts {
        if endpoint.path == "/submissions/{id}/replay" {
            app.close_season().await;
        }
        let job = match endpoint.path.rsplit('/').next() {
            Some("cancel") => &open,
            Some("connection") => connects,
            _ => &id,
        };
        let path = endpoint.path.replace("{job_id}", job).replace("{name}", "gpu-07");
        let path = path.replace("{id}", if path.ends_with("/cancel") { &waiting } else { &submitted });
        let send = || match endpoint.path {
            "/submissions" => form(keyed(&path, &key, endpoint.path), &[POLICY, ARENA]),
            "/verify" | "/preflight" => form(keyed(&path, &key, endpoint.path), &[POLICY, SCENARIO]),
            "/community/scenarios" => {
                form(keyed(&path, &key, endpoint.path), &[Part::File("scenario", "s.zip", b"once 1")])
            }
            "/seasons" => json_request(&path, &key, endpoint.path, r#"{"scenario": "tabletop_reach"}"#),
            "/seasons/close" => json_request(&path, &key, endpoint.path, r#"{"scenario": "tabletop_reach"}"#),
            "/workers" => json_request(&path, &key, endpoint.path, r#"{"name": "gpu-07"}"#),
            "/workers/{name}/drain" => json_request(&path, &key, endpoint.path, r#"{"drain": true}"#),
            "/keys" => json_request(&path, &key, endpoint.path, r#"{"name": "ci", "scopes": ["read"]}"#),
            "/models" => {
                let digest = "ab".repeat(32);
                json_request(&path, &key, endpoint.path, &format!(r#"{{"sha256": "{digest}", "size_bytes": 7}}"#))
            }
            "/verify/{job_id}/replay" | "/submissions/{id}/replay" => json_request(&path, &key, endpoint.path, "{}"),
            "/verify/{job_id}/review" => {
                let payload = r#"{"decision": "accepted", "reason": "I looked at it."}"#;
                json_request(&path, &key, endpoint.path, payload)
            }
            "/webhooks/secret"
            | "/verify/{job_id}/cancel"
            | "/verify/{job_id}/connection"
            | "/submissions/{id}/cancel"
            | "/submissions/{id}/choose" => keyed(&path, &key, endpoint.path).body(Body::empty()).unwrap(),
            other => panic!("POST {other} is not tried here"),
        };
        let first = app.send(send()).await;
        assert!(first.status.is_success(), "{path}: {}", first.body);
        let again = app.send(send()).await;
        assert_eq!(again.status, first.status, "{path}: {}", again.body);
        assert_eq!(again.headers["idempotency-replayed"], "true", "{path}");
    }
}
