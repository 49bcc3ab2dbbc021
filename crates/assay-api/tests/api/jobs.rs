//! Lists, ownership and cancellation of jobs.

use assay_store::ShardRequest;
use serde_json::{Value, json};

use crate::app::{POLICY, SCENARIO, TestApp};

async fn create(app: &TestApp, key: &str) -> String {
    app.clock.forward(1);
    let answer = app.verify(key, &[POLICY, SCENARIO]).await;
    answer.body["job_id"].as_str().unwrap().to_owned()
}

fn ids(page: &Value) -> Vec<&str> {
    page["jobs"].as_array().unwrap().iter().map(|job| job["job_id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn lists_contain_own_jobs_newest_first() {
    let app = TestApp::new();
    let (mine, other) = (app.key("lab", "verify,read").await, app.key("other", "verify,read").await);
    let first = create(&app, &mine).await;
    create(&app, &other).await;
    let (second, third) = (create(&app, &mine).await, create(&app, &mine).await);

    let page = app.get("/verify", &mine).await.body;
    assert_eq!(ids(&page), [&third, &second, &first]);
    assert_eq!((&page["total"], &page["limit"], &page["offset"]), (&json!(3), &json!(20), &json!(0)));
    assert_eq!(ids(&app.get("/verify?limit=1&offset=1", &mine).await.body), [&second]);
    assert_eq!(ids(&app.get(&format!("/verify?before={second}"), &mine).await.body), [&first]);
    assert_eq!(ids(&app.get("/verify?scenario=cartpole_keepin&status=QUEUED", &mine).await.body).len(), 3);
    for nothing in ["scenario=tabletop_reach", "scenario=No!", "status=COMPLETED", "status=queued", "verdict=SAFE"] {
        assert_eq!(app.get(&format!("/verify?{nothing}"), &mine).await.body["total"], json!(0), "{nothing}");
    }
}

#[tokio::test]
async fn invalid_page_parameters_are_named() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=+5", "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", "limit"),
        ("offset=-1", "offset"),
        ("offset=99999999999", "offset"),
        ("before=yesterday", "before"),
        ("scenario=", "scenario"),
        ("status=", "status"),
        ("status=QUEUED&status=RUNNING", "status"),
        ("verdict=", "verdict"),
        ("verdict=SAFE&verdict=SAFE", "verdict"),
    ] {
        for list in ["/verify", "/submissions"] {
            let answer = app.get(&format!("{list}?{query}"), &key).await;
            assert_eq!((answer.status.as_u16(), answer.code()), (400, "VALIDATION_ERROR"), "{list}?{query}");
            assert_eq!(answer.body["error"]["details"]["field"], json!(field), "{list}?{query}");
        }
    }
}

#[tokio::test]
async fn lists_can_be_filtered_by_verdict() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let done = app.completed(&key, 1).await;
    create(&app, &key).await;
    for (query, expected) in [
        ("verdict=SAFE", 1),
        ("verdict=SAFE&status=COMPLETED&scenario=cartpole_keepin", 1),
        ("verdict=SAFE&status=QUEUED", 0),
        ("verdict=UNSAFE", 0),
        ("verdict=safe", 0),
        ("verdict=FINE", 0),
    ] {
        let page = app.get(&format!("/verify?{query}"), &key).await.body;
        assert_eq!((ids(&page).len(), &page["total"]), (expected, &json!(expected)), "{query}");
        assert!(ids(&page).iter().all(|id| *id == done), "{query}");
    }
}

#[tokio::test]
async fn jobs_of_other_accounts_are_not_found() {
    let app = TestApp::new();
    let mine = app.key("lab", "verify,read").await;
    let id = create(&app, &mine).await;
    let (path, cancel) = (format!("/verify/{id}"), format!("/verify/{id}/cancel"));
    for (scopes, read, stop) in [("verify,read", 404, 404), ("verify,read,review", 200, 404)] {
        let key = app.key("other", scopes).await;
        assert_eq!(app.get(&path, &key).await.status.as_u16(), read, "{scopes}");
        assert_eq!(app.post(&cancel, &key).await.status.as_u16(), stop, "{scopes}");
        assert_eq!(app.get("/verify", &key).await.body["total"], json!(0), "lists are one's own");
    }
    let admin = app.key("root", "verify,admin").await;
    assert_eq!(app.post(&cancel, &admin).await.body["status"], json!("CANCELLED"));
}

#[tokio::test]
async fn cancelling_twice_is_harmless() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let id = create(&app, &key).await;
    for _ in 0..2 {
        let answer = app.post(&format!("/verify/{id}/cancel"), &key).await;
        assert_eq!((answer.status.as_u16(), &answer.body["status"]), (200, &json!("CANCELLED")));
    }
    let failed = create(&app, &key).await;
    let failure = assay_store::JobFailure { blame: assay_model::Blame::Platform, message: "no".into() };
    app.state.records.fail_job(failed.parse().unwrap(), failure, app.state.clock.now()).await.unwrap();
    let answer = app.post(&format!("/verify/{failed}/cancel"), &key).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (409, "CONFLICT"));
}

#[tokio::test]
async fn episodes_come_in_pages() {
    let app = TestApp::new();
    let (mine, other) = (app.key("lab", "verify,read").await, app.key("other", "read").await);
    let path = format!("/verify/{}/episodes", create(&app, &mine).await);
    let (request, lease) = (ShardRequest::new("w"), jiff::SignedDuration::from_secs(9));
    let claim = app.state.records.claim_shard(&request, app.state.clock.now(), lease);
    let fence = claim.await.unwrap().unwrap().fence;
    for index in 0..2 {
        let result = assay_store_testing::episode(index);
        app.state.records.record_episode(fence, result, app.state.clock.now()).await.unwrap();
    }
    let page = app.get(&format!("{path}?limit=1&offset=1"), &mine).await.body;
    assert_eq!((&page["total"], &page["episodes"][0]["episode"]), (&json!(2), &json!(1)));
    assert_eq!(page["episodes"].as_array().unwrap().len(), 1);
    assert_eq!(app.get(&path, &other).await.status, 404);
    assert_eq!(app.get(&format!("{path}?limit=0"), &mine).await.code(), "VALIDATION_ERROR");
}
