//! Secrets and deliveries of webhooks. The tests of the program cover the content and time of deliveries.

use assay_api::ApiSettings;
use axum::body::Body;
use serde_json::{Value, json};

use crate::app::{POLICY, Part, SCENARIO, TestApp, request};
use crate::sessions::sign_in;
use crate::ui::{html, open, send};

const CALLBACK: Part<'_> = Part::Text("callback_url", "https://lab.test/hook?token=t");

#[tokio::test]
async fn a_secret_can_be_created_by_keys_that_can_use_it() {
    let app = TestApp::new();
    for (scopes, status) in [("verify", 201), ("submit", 201), ("read", 403), ("review,publish,admin", 403)] {
        let made = app.post("/webhooks/secret", &app.key("lab", scopes).await).await;
        assert_eq!(made.status, status, "{scopes}: {}", made.body);
    }
    let browser = sign_in(&app, &app.key("lab", "verify").await).await;
    assert_eq!(browser.send(&app, "POST", "/webhooks/secret", Some(&browser.token)).await.status, 201);
    assert_eq!(browser.send(&app, "POST", "/webhooks/secret", None).await.status, 403);
}

#[tokio::test]
async fn a_secret_is_shown_once() {
    let app = TestApp::new();
    let key = app.key("lab", "verify").await;
    let named = || request("POST", "/webhooks/secret", &key).header("idempotency-key", "one").body(Body::empty());
    let first = app.send(named().unwrap()).await;
    assert!(first.body["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(first.body["previous_until"], Value::Null);
    let again = app.send(named().unwrap()).await;
    assert_eq!((again.status.as_u16(), &again.body["secret"]), (201, &Value::Null));
    let second = app.post("/webhooks/secret", &key).await;
    assert_ne!(first.body["secret"], second.body["secret"]);
    assert!(second.body["previous_until"].is_string());
}

/// Creates a service that knows its address.
fn known() -> TestApp {
    let public_url = Some("https://assay.test".to_owned());
    TestApp::with(ApiSettings { public_url, ..ApiSettings::default() })
}

#[tokio::test]
async fn a_service_that_does_not_know_its_address_sends_none() {
    let app = TestApp::new();
    let lab = app.key("lab", "verify,read,submit").await;
    assert_eq!(app.post("/webhooks/secret", &lab).await.status, 201);
    let submission = [POLICY, Part::Text("scenario_id", "cartpole_keepin"), CALLBACK];
    for refused in [app.verify(&lab, &[POLICY, SCENARIO, CALLBACK]).await, app.submit(&lab, &submission).await] {
        let field = &refused.body["error"]["details"]["field"];
        assert_eq!((refused.status.as_u16(), refused.code(), field), (400, "VALIDATION_ERROR", &json!("callback_url")));
        assert!(refused.message().contains("server.public_url"), "{}", refused.message());
    }
    assert_eq!(app.get("/verify", &lab).await.body["total"], 0);
}

#[tokio::test]
async fn an_address_needs_a_secret() {
    let app = known();
    let (lab, other) = (app.key("lab", "verify,read").await, app.key("other", "verify,read").await);
    assert_eq!(app.post("/webhooks/secret", &other).await.status, 201);
    let refused = app.verify(&lab, &[POLICY, SCENARIO, CALLBACK]).await;
    assert_eq!((refused.status.as_u16(), &refused.body["error"]["details"]["field"]), (400, &json!("callback_url")));
    assert!(refused.message().contains("POST /webhooks/secret"), "{}", refused.message());
    assert_eq!(app.post("/webhooks/secret", &lab).await.status, 201);
    let wrong = app.verify(&lab, &[POLICY, SCENARIO, Part::Text("callback_url", "ftp://u:secret@lab.test")]).await;
    assert_eq!(wrong.status, 400);
    assert!(!wrong.body.to_string().contains("secret@"), "{}", wrong.body);
    let job = app.verify(&lab, &[POLICY, SCENARIO, CALLBACK]).await;
    assert_eq!(job.status, 201, "{}", job.body);
    assert!(!job.body.to_string().contains("lab.test"), "the address is not part of the job: {}", job.body);
    app.verify(&lab, &[POLICY, SCENARIO]).await;

    let listed = async |key: &str, query: &str| app.get(&format!("/webhooks/deliveries{query}"), key).await;
    let page = listed(&lab, "").await.body;
    let expected = json!({ "job_id": job.body["job_id"], "url": "https://lab.test/hook", "state": "PENDING",
                           "attempts": 0, "next_attempt_at": null, "log": [] });
    assert_eq!(page, json!({ "deliveries": [expected], "total": 1, "limit": 20, "offset": 0 }));
    for (query, total) in [("?state=DELIVERED", 0), ("?state=PENDING&limit=1", 1)] {
        assert_eq!(listed(&lab, query).await.body["total"], total, "{query}");
    }
    for query in ["?state=pending", "?job_id=1", "?limit=0"] {
        assert_eq!(listed(&lab, query).await.status, 400, "{query}");
    }
    assert_eq!(listed(&other, "").await.body["total"], 0, "another account's");
}

#[tokio::test]
async fn the_page_shows_messages_and_makes_a_secret() {
    let app = known();
    let browser = sign_in(&app, &app.key("lab", "verify,read").await).await;
    assert!(html(&open(&app, "/ui/webhooks", &browser.cookie).await).contains("has no secret yet"));
    let make = async |token: &str| send(&app, "/ui/webhooks/secret", &browser.cookie, &[("csrf", token)]).await;
    assert_eq!(make("forged").await.status, 403);
    let made = make(&browser.token).await;
    assert!(made.status == 201 && html(&made).contains("whsec_"), "{}", made.body);
    assert!(html(&make(&browser.token).await).contains("signature of the previous one"));
    let callback = Part::Text("callback_url", "https://lab.test/<b>hook?token=t");
    let job = app.verify(&app.key("lab", "verify").await, &[POLICY, SCENARIO, callback]).await;
    let page = open(&app, "/ui/webhooks", &browser.cookie).await;
    for part in ["PENDING", job.body["job_id"].as_str().unwrap(), "lab.test/", "Replace the secret"] {
        assert!(html(&page).contains(part), "{part} is missing");
    }
    assert!(!html(&page).contains("token=t") && !html(&page).contains("<b>") && !html(&page).contains("whsec_"));
    let stranger = sign_in(&app, &app.key("other", "read").await).await;
    assert!(!html(&open(&app, "/ui/webhooks", &stranger.cookie).await).contains("lab.test"));
    let refused = send(&app, "/ui/webhooks/secret", &stranger.cookie, &[("csrf", &stranger.token)]).await;
    assert_eq!(refused.status, 403, "the key can have no webhooks");
}
