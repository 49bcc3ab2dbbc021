//! After a verdict: the signed statement, manual review and replay.

use assay_report::attest::PublishedKeys;
use serde_json::json;

use crate::app::{POLICY, SCENARIO, TestApp};

#[tokio::test]
async fn signing_keys_are_public() {
    let app = TestApp::new();
    for path in ["/.well-known/assay-keys.json", "/v1/.well-known/assay-keys.json"] {
        let answer = app.get(path, "").await;
        let keys: PublishedKeys = serde_json::from_value(answer.body).unwrap();
        assert!(keys.current().unwrap().key().is_ok(), "{path}");
    }
}

#[tokio::test]
async fn a_statement_is_available_once_it_is_signed() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let queued = app.verify(&key, &[POLICY, SCENARIO]).await.body;
    assert_eq!(queued["attestation_url"], json!(null));
    let path = format!("/verify/{}/attestation", queued["job_id"].as_str().unwrap());
    let early = app.get(&path, &key).await;
    assert_eq!((early.status.as_u16(), early.code()), (409, "CONFLICT"));
    assert_eq!(early.message(), "there is a signed statement once the job is COMPLETED; it is QUEUED");
    app.post(&path.replace("attestation", "cancel"), &key).await;

    let id = app.completed(&key, 1).await;
    let path = app.get(&format!("/verify/{id}"), &key).await.body["attestation_url"].as_str().unwrap().to_owned();
    assert_eq!(path, format!("/verify/{id}/attestation"));
    let answer = app.get(&path, &key).await;
    assert_eq!((answer.status.as_u16(), answer.body), (200, json!({ "payload": 1 })));
    let stranger = app.key("other", "verify,read").await;
    assert_eq!(app.get(&path, &stranger).await.code(), "NOT_FOUND");
}

#[tokio::test]
async fn a_review_is_shown_beside_the_verdict() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let reviewer = app.key("safety", "review").await;
    let id = app.completed(&key, 1).await;
    let before = app.get(&format!("/verify/{id}"), &key).await.body;
    assert_eq!(before["review"], json!(null));
    let path = format!("/verify/{id}/review");
    let payload = json!({ "decision": "rejected", "reason": " The video shows\u{1b}[31m a near miss. " });
    let mut answer = app.post_json(&path, &reviewer, &payload).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let review = answer.body["review"].take();
    let expected = json!({
        "decision": "rejected",
        "reason": "The video shows a near miss.",
        "reviewer": "safety",
        "at": "2025-06-15T15:06:40Z",
    });
    assert_eq!(review, expected);
    assert_eq!(answer.body, before, "nothing else changes");
    assert_eq!(app.get(&format!("/verify/{id}"), &key).await.body["review"], review, "its owner sees it");
    let page = app.get(&format!("/verify/{id}/report"), &reviewer).await;
    assert_eq!(page.code(), "FORBIDDEN", "reading needs the scope for it");
    let page = app.get(&format!("/verify/{id}/report"), &key).await.body;
    assert!(page.as_str().unwrap().contains("safety rejected the result. The video shows a near miss."), "{page}");

    app.clock.forward(1);
    let payload = json!({ "decision": "accepted", "reason": "Looked again." });
    let answer = app.post_json(&path, &reviewer, &payload).await;
    assert_eq!(answer.body["review"]["decision"], "accepted");
    assert_eq!(answer.body["verdict"], before["verdict"]);
}

#[tokio::test]
async fn invalid_reviews_name_the_field() {
    let app = TestApp::new();
    let (key, reviewer) = (app.key("lab", "verify,read").await, app.key("safety", "review").await);
    let id = app.completed(&key, 1).await;
    let path = format!("/verify/{id}/review");
    for (payload, field) in [
        (json!({ "decision": "accepted" }), "reason"),
        (json!({ "reason": "x" }), "decision"),
        (json!({ "decision": "fine", "reason": "x" }), "decision"),
        (json!({ "decision": "accepted", "reason": " \n " }), "reason"),
        (json!({ "decision": "accepted", "reason": "x".repeat(4097) }), "reason"),
        (json!({ "decision": "accepted", "reason": "x", "verdict": "SAFE" }), "verdict"),
        (json!({ "decision": "accepted", "reason": 7 }), "reason"),
        (json!(["accepted", "x"]), "body"),
    ] {
        let answer = app.post_json(&path, &reviewer, &payload).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "VALIDATION_ERROR"), "{payload}: {}", answer.body);
        assert_eq!(answer.body["error"]["details"]["field"], field, "{payload}: {}", answer.body);
    }
    let payload = json!({ "decision": "accepted", "reason": "x" });
    let queued = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    let early = app.post_json(&format!("/verify/{queued}/review"), &reviewer, &payload).await;
    assert_eq!((early.code(), early.message()), ("CONFLICT", "there is nothing to review: the job is QUEUED"));
    assert_eq!(app.post_json("/verify/nothing/review", &reviewer, &payload).await.code(), "NOT_FOUND");
    assert_eq!(app.get(&format!("/verify/{id}"), &key).await.body["review"], json!(null));
}

#[tokio::test]
async fn an_episode_is_replayed() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let id = app.completed(&key, 2).await;
    let path = format!("/verify/{id}/replay");
    for answer in [app.post(&path, &key).await, app.post_json(&path, &key, &json!({ "episode": 0 })).await] {
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!((&answer.body["same"], &answer.body["difference"]["cause"]), (&json!(false), &json!("policy")));
    }
    let busy = app.post_json(&path, &key, &json!({ "episode": 1 })).await;
    assert_eq!((busy.status.as_u16(), busy.headers["retry-after"].to_str().unwrap()), (503, "10"));
    for (payload, field) in [
        (json!({ "episode": 2 }), "episode"),
        (json!({ "episode": -1 }), "episode"),
        (json!({ "seed": 1 }), "seed"),
        (json!([]), "body"),
    ] {
        let answer = app.post_json(&path, &key, &payload).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "VALIDATION_ERROR"), "{payload}: {}", answer.body);
        assert_eq!(answer.body["error"]["details"]["field"], field, "{payload}: {}", answer.body);
    }
    let queued = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    assert_eq!(app.post(&format!("/verify/{queued}/replay"), &key).await.code(), "CONFLICT");
    let stranger = app.key("other", "verify,read").await;
    assert_eq!(app.post(&path, &stranger).await.code(), "NOT_FOUND");
}
