//! The page for submitting a policy: it uses the operations and limits of the API.

use assay_api::{ApiSettings, RateLimits};
use axum::http::Request;

use crate::app::{Answer, Part, TestApp, ZIP, form};
use crate::sessions::{Browser, sign_in};
use crate::ui::{html, open};

async fn submit(app: &TestApp, browser: &Browser, parts: &[Part<'_>]) -> Answer {
    app.send(form(Request::post("/ui/submit").header("cookie", &browser.cookie), parts)).await
}

/// The fields that a browser sends: those left empty too.
fn fields<'a>(token: &'a str, file: Part<'a>, changed: &[(&'a str, &'a str)]) -> Vec<Part<'a>> {
    let value = |name: &str, usual| changed.iter().find(|(known, _)| *known == name).map_or(usual, |(_, value)| *value);
    let text = |name, usual| Part::Text(name, value(name, usual));
    vec![
        Part::Text("csrf", token),
        file,
        text("policy_url", ""),
        text("policy_api_key", ""),
        text("scenario", "cartpole_keepin"),
        text("max_violation_probability", ""),
        text("num_episodes", ""),
        text("policy_name", ""),
        text("check", "yes"),
    ]
}

const POLICY: Part<'_> = Part::File("policy", "grasp.zip", ZIP);
const NO_FILE: Part<'_> = Part::File("policy", "", b"");

async fn jobs(app: &TestApp, key: &str) -> u64 {
    app.get("/verify", key).await.body["total"].as_u64().unwrap()
}

#[tokio::test]
async fn an_archive_or_an_address_is_queued_and_leads_to_its_live_page() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let browser = sign_in(&app, &key).await;
    let page = open(&app, "/ui/submit?scenario=tabletop_reach", &browser.cookie).await;
    for part in [
        "enctype=\"multipart/form-data\"",
        "value=\"tabletop_reach\" selected",
        "fewer than 10 in 100 episodes are unsafe: 29 episodes",
    ] {
        assert!(html(&page).contains(part), "{part} is missing");
    }
    for (file, changed, episodes, name) in [
        (POLICY, &[][..], 3, "grasp.zip"),
        (POLICY, &[("max_violation_probability", "0.1"), ("policy_name", "mine")], 29, "mine"),
        (NO_FILE, &[("policy_url", "ws://policy.test:8000/"), ("num_episodes", "2")], 2, "ws://policy.test:8000/"),
    ] {
        let made = submit(&app, &browser, &fields(&browser.token, file, changed)).await;
        assert_eq!(made.status, 303, "{}", made.body);
        let place = made.headers["location"].to_str().unwrap().to_owned();
        let id = place.strip_prefix("/ui/verifications/").unwrap();
        let job = app.get(&format!("/verify/{id}"), &key).await.body;
        assert_eq!((job["num_episodes"].as_u64(), job["policy_name"].as_str()), (Some(episodes), Some(name)));
        assert!(html(&open(&app, &place, &browser.cookie).await).contains("QUEUED"));
    }
    assert_eq!(app.leftovers(), 0);
}

#[tokio::test]
async fn a_refused_policy_is_explained_on_the_page_and_not_queued() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let browser = sign_in(&app, &key).await;
    let hostile = "<img src=x>\"&<!--";
    for (file, changed, status, message) in [
        (Part::File("policy", "a.zip", b"text"), &[][..], 400, "this is not a zip archive"),
        (Part::File("policy", "a.zip", b"text"), &[("check", "")], 400, "this is not a zip archive"),
        (NO_FILE, &[], 400, "policy is missing"),
        (POLICY, &[("num_episodes", "0")], 400, "must be a whole number"),
        (POLICY, &[("scenario", hostile)], 400, "there is no such scenario"),
        (POLICY, &[("policy_name", hostile), ("num_episodes", hostile)], 400, "must be a whole number"),
        (NO_FILE, &[("policy_url", hostile)], 400, "no address of a policy server"),
    ] {
        let refused = submit(&app, &browser, &fields(&browser.token, file, changed)).await;
        assert_eq!(refused.status, status, "{changed:?}: {}", refused.body);
        assert!(html(&refused).contains(message) && html(&refused).contains("role=\"alert\""), "{changed:?}");
        assert!(!html(&refused).contains("<img") && !html(&refused).contains("<!--"), "{changed:?}");
    }
    assert_eq!((jobs(&app, &key).await, app.leftovers()), (0, 0));
}

#[tokio::test]
async fn the_form_of_another_site_session_or_scope_queues_nothing() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let (browser, other) = (sign_in(&app, &key).await, sign_in(&app, &key).await);
    for token in ["", &*other.token] {
        let refused = submit(&app, &browser, &fields(token, POLICY, &[])).await;
        assert_eq!(refused.status, 403);
        assert!(html(&refused).contains("lacks the token"));
    }
    let foreign = Request::post("/ui/submit").header("cookie", &browser.cookie).header("sec-fetch-site", "cross-site");
    let refused = app.send(form(foreign, &fields(&browser.token, POLICY, &[]))).await;
    assert_eq!(refused.status, 403);
    let reader = sign_in(&app, &app.key("lab", "read").await).await;
    assert_eq!(submit(&app, &reader, &fields(&reader.token, POLICY, &[])).await.status, 403);
    assert_eq!(open(&app, "/ui/submit", &reader.cookie).await.status, 403);
    let stranger = app.send(form(Request::post("/ui/submit"), &fields("", POLICY, &[]))).await;
    assert_eq!((stranger.status.as_u16(), stranger.headers["location"].to_str().unwrap()), (303, "/ui/sign-in"));
    assert_eq!((jobs(&app, &key).await, app.leftovers()), (0, 0));
}

#[tokio::test]
async fn a_form_counts_like_a_request_to_the_api() {
    let rate = RateLimits { verify_per_minute: 2, ..RateLimits::all(1_000_000) };
    let app = TestApp::limited(ApiSettings { rate, ..ApiSettings::default() });
    let key = app.key("lab", "verify,read").await;
    let browser = sign_in(&app, &key).await;
    let parts = fields(&browser.token, POLICY, &[]);
    assert_eq!(submit(&app, &browser, &parts).await.status, 303);
    assert_eq!(app.verify(&key, &[POLICY, crate::app::SCENARIO]).await.status, 201);
    let refused = submit(&app, &browser, &parts).await;
    assert_eq!(refused.status, 429);
    assert!(html(&refused).contains("used up"));
    assert_eq!(jobs(&app, &key).await, 2);
}
