//! `POST /preflight`: its parts, its response and its limits.

use std::sync::Arc;
use std::time::Duration;

use assay_api::router;
use assay_testkit::PATIENCE;
use serde_json::json;

use crate::app::{Answer, Gated, POLICY, Part, SCENARIO, SERVER, TestApp, form, request};

async fn preflight(app: &TestApp, key: &str, parts: &[Part<'_>]) -> Answer {
    app.send(form(request("POST", "/preflight", key), parts)).await
}

#[tokio::test]
async fn a_preflight_runs_a_policy_and_stores_nothing() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let answer = preflight(&app, &key, &[POLICY, SCENARIO, Part::Text("num_episodes", "5")]).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    insta::assert_json_snapshot!("found", answer.body);
    let secret = Part::Text("policy_api_key", "k-secret");
    let served = preflight(&app, &key, &[SERVER, secret, Part::Text("scenario", "tabletop_reach")]).await;
    assert_eq!(
        (&served.body["speaks"], &served.body["policy_name"]),
        (&json!("a protocol"), &json!("ws://policy.test:8000/"))
    );
    assert!(!served.body.to_string().contains("secret"), "{}", served.body);
    for (parts, field) in [
        (&[SCENARIO][..], "policy"),
        (&[POLICY], "scenario"),
        (&[SCENARIO, Part::File("policy", "p.zip", b"no archive")], "policy"),
        (&[SCENARIO, POLICY, Part::Text("seed", "x")], "seed"),
    ] {
        let refused = preflight(&app, &key, parts).await;
        assert_eq!((refused.status.as_u16(), &refused.body["error"]["details"]["field"]), (400, &json!(field)));
    }
    assert_eq!(app.get("/verify", &key).await.body["total"], json!(0));
    assert_eq!(app.leftovers(), 0);
    assert_eq!(std::fs::read_dir(app.folder.path().join("policies")).unwrap().count(), 0);
    assert!(app.state.servers.list().unwrap().is_empty());
}

#[tokio::test]
async fn preflights_are_limited_to_one_per_account_and_two_in_total() {
    let mut app = TestApp::new();
    let gate = Gated::default();
    let closed = Arc::clone(&gate.closed);
    *closed.0.lock().unwrap() = true;
    app.state.preflights = Arc::new(gate);
    app.router = router(app.state.clone());
    let (first, second, third) =
        (app.key("first", "verify").await, app.key("second", "verify").await, app.key("third", "verify").await);
    let app = Arc::new(app);
    let begin = |key: &str| {
        let (app, key) = (Arc::clone(&app), key.to_owned());
        tokio::spawn(async move { preflight(&app, &key, &[POLICY, SCENARIO]).await })
    };
    let (one, two) = (begin(&first), begin(&second));
    // Wait until both are running: then the first account's second gets 429, and a third account 503.
    let mut statuses = (0, 0);
    let until = std::time::Instant::now() + PATIENCE;
    while std::time::Instant::now() < until {
        statuses = (asked(&app, &first).await, asked(&app, &third).await);
        if statuses == (429, 503) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(statuses, (429, 503));
    *closed.0.lock().unwrap() = false;
    closed.1.notify_all();
    assert_eq!((one.await.unwrap().status.as_u16(), two.await.unwrap().status.as_u16()), (200, 200));
    assert_eq!(asked(&app, &third).await, 200);
}

/// Returns the status of a request without parts, which fails once it has a slot.
async fn asked(app: &TestApp, key: &str) -> u16 {
    let answer = preflight(app, key, &[SCENARIO]).await;
    match answer.status.as_u16() {
        400 => 200,
        status => {
            assert_eq!(answer.headers["retry-after"], "3", "{}", answer.body);
            assert_eq!(answer.code(), if status == 429 { "RATE_LIMITED" } else { "UNAVAILABLE" });
            let limit = answer.body["error"]["details"]["limit"].as_str();
            assert_eq!(limit, (status == 429).then_some("preflights"));
            status
        }
    }
}
