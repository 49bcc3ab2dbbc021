//! Tokens for connections of policies, and the requests that they are for.

use assay_model::Clock;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::app::{Answer, POLICY, Part, SCENARIO, TestApp, form, request};

const CONNECT: Part<'_> = Part::Text("connect", "true");

/// Creates a job whose policy connects, and returns its id.
async fn job(app: &TestApp, key: &str) -> String {
    let made = app.verify(key, &[CONNECT, SCENARIO]).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!((&made.body["policy_identity"], &made.body["policy_sha256"]), (&json!("declared"), &Value::Null));
    made.body["job_id"].as_str().unwrap().to_owned()
}

async fn token(app: &TestApp, key: &str, job: &str) -> String {
    let made = app.post(&format!("/verify/{job}/connection"), key).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(made.body["connection_url"], json!(format!("/connections/{job}")));
    made.body["token"].as_str().unwrap().to_owned()
}

/// Opens a connection as far as that is possible without a socket: 401 for an invalid token, otherwise 400.
async fn open(app: &TestApp, job: &str, token: &str) -> Answer {
    let request = Request::get(format!("/connections/{job}")).header("authorization", format!("Bearer {token}"));
    let request = request.header("connection", "Upgrade").header("upgrade", "websocket");
    let request = request.header("sec-websocket-version", "13").header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    app.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_token_is_for_one_job_and_for_two_minutes_and_replaced_by_the_next() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let (one, other) = (job(&app, &key).await, job(&app, &key).await);
    let first = token(&app, &key, &one).await;
    assert!(first.starts_with("assayc_") && first.len() == "assayc_".len() + 64, "{first}");
    assert_eq!(open(&app, &one, &first).await.status, 400, "valid");
    for (job, token) in [(&other, first.as_str()), (&one, "assayc_00"), (&one, key.as_str()), (&one, "")] {
        let refused = open(&app, job, token).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (401, "UNAUTHORIZED"), "{token}");
    }
    let refused = open(&app, "nothing", &first).await;
    assert_eq!((refused.status.as_u16(), refused.message()), (401, open(&app, &other, &first).await.message()));
    let second = token(&app, &key, &one).await;
    assert_eq!(open(&app, &one, &first).await.status, 401, "replaced");
    assert_eq!(open(&app, &one, &second).await.status, 400);
    app.clock.forward(119);
    assert_eq!(open(&app, &one, &second).await.status, 400);
    app.clock.forward(1);
    assert_eq!(open(&app, &one, &second).await.status, 401, "expired");
}

#[tokio::test]
async fn a_token_is_shown_once_and_to_the_owner_only() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let job = job(&app, &key).await;
    let path = format!("/verify/{job}/connection");
    let once = || request("POST", &path, &key).header("idempotency-key", "k-1").body(Body::empty()).unwrap();
    let (first, again) = (app.send(once()).await, app.send(once()).await);
    assert_eq!((first.status, again.status), (again.status, first.status));
    let shown = first.body["token"].as_str().unwrap();
    assert_eq!((&again.body["token"], &again.body["expires_at"]), (&Value::Null, &first.body["expires_at"]));
    assert_eq!(open(&app, &job, shown).await.status, 400, "a repetition does not revoke it");
    for answer in [app.get(&format!("/verify/{job}"), &key).await, app.get("/verify", &key).await] {
        assert!(!answer.body.to_string().contains("assayc_"), "{}", answer.body);
    }
    assert!(!format!("{:?}", app.state.connection_tokens).contains("assayc_"));
    let stranger = app.key("other", "verify,read").await;
    assert_eq!(app.post(&path, &stranger).await.status, 404);
    let reader = app.key("lab", "read").await;
    assert_eq!(app.post(&path, &reader).await.status, 403);
}

#[tokio::test]
async fn a_handshake_names_what_is_missing() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let job = job(&app, &key).await;
    let token = token(&app, &key, &job).await;
    let complete = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    for (missing, field) in [
        ("upgrade", "Upgrade"),
        ("sec-websocket-version", "Sec-WebSocket-Version"),
        ("sec-websocket-key", "Sec-WebSocket-Key"),
    ] {
        let mut request =
            Request::get(format!("/connections/{job}")).header("authorization", format!("Bearer {token}"));
        for (name, value) in complete.iter().filter(|(name, _)| *name != missing) {
            request = request.header(*name, *value);
        }
        let refused = app.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!((refused.status.as_u16(), &refused.body["error"]["details"]["field"]), (400, &json!(field)));
    }
}

#[tokio::test]
async fn only_jobs_that_need_their_policy_are_connected_to() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read,submit").await;
    let uploaded = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    let refused = app.post(&format!("/verify/{uploaded}/connection"), &key).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "CONFLICT"));
    let cancelled = job(&app, &key).await;
    assert_eq!(app.post(&format!("/verify/{cancelled}/cancel"), &key).await.status, 200);
    let refused = app.post(&format!("/verify/{cancelled}/connection"), &key).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "CONFLICT"));
    assert!(app.state.servers.list().unwrap().is_empty());
    let _ = app.clock.now();
}

#[tokio::test]
async fn the_part_connect_yields_to_others_and_is_refused_for_seasons_and_preflights() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read,submit").await;
    let refused = app.verify(&key, &[Part::Text("connect", "yes"), SCENARIO]).await;
    assert_eq!((refused.status.as_u16(), &refused.body["error"]["details"]["field"]), (400, &json!("connect")));
    let called = app.verify(&key, &[CONNECT, Part::Text("policy_url", "ws://policy.test:8000"), SCENARIO]).await;
    assert_eq!(called.body["warnings"], json!(["connect was ignored: the policy server at policy_url is evaluated"]));
    assert_eq!(called.body["policy_name"], json!("ws://policy.test:8000"));
    let refused = app.verify(&key, &[Part::Text("connect", "false"), SCENARIO]).await;
    assert_eq!((refused.status.as_u16(), &refused.body["error"]["details"]["field"]), (400, &json!("policy")));
    let refused = app.submit(&key, &[CONNECT, Part::Text("scenario_id", "cartpole_keepin")]).await;
    assert_eq!((refused.status.as_u16(), &refused.body["error"]["details"]["field"]), (400, &json!("connect")));
    assert!(refused.message().contains("secret episode"), "{}", refused.message());
    let refused = app.send(form(request("POST", "/preflight", &key), &[CONNECT, SCENARIO])).await;
    assert_eq!((refused.status.as_u16(), &refused.body["error"]["details"]["field"]), (400, &json!("connect")));
    let both = app.verify(&key, &[CONNECT, POLICY, SCENARIO]).await;
    assert_eq!(both.body["warnings"], json!(["connect was ignored: the archive in policy is evaluated"]));
    let ignored = app.verify(&key, &[CONNECT, SCENARIO, Part::Text("policy_concurrency", "4")]).await;
    assert_eq!(ignored.body["warnings"], json!(["policy_concurrency was ignored: the policy connects itself"]));
}
