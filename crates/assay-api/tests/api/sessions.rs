//! Browser sessions: signing in and out, and changes that need the CSRF token.

use std::time::Duration;

use assay_api::ApiSettings;
use assay_store::KeyId;
use assay_testkit::PATIENCE;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::json;
use tower::ServiceExt;

use crate::app::{Answer, POLICY, SCENARIO, TestApp, form};

/// A browser after its try to sign in.
pub(crate) struct Browser {
    pub(crate) cookie: String,
    pub(crate) token: String,
    pub(crate) answer: Answer,
}

pub(crate) async fn sign_in(app: &TestApp, key: &str) -> Browser {
    let answer = app.post_json("/session", "", &json!({ "key": key })).await;
    let set = answer.headers.get("set-cookie").map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
    let cookie = set.split(';').next().unwrap().to_owned();
    let token = answer.body["csrf_token"].as_str().unwrap_or_default().to_owned();
    Browser { cookie, token, answer }
}

impl Browser {
    fn request(&self, method: &str, path: &str, token: Option<&str>) -> axum::http::request::Builder {
        let request = Request::builder().method(method).uri(path).header("cookie", &self.cookie);
        match token {
            Some(token) => request.header("x-csrf-token", token),
            None => request,
        }
    }

    pub(crate) async fn send(&self, app: &TestApp, method: &str, path: &str, token: Option<&str>) -> Answer {
        app.send(self.request(method, path, token).body(Body::empty()).unwrap()).await
    }
}

#[tokio::test]
async fn a_browser_signs_in_reads_changes_and_signs_out() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let browser = sign_in(&app, &key).await;
    let answer = &browser.answer;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    // The key is good for an hour, a session would be for twelve.
    assert!(cookie.ends_with("; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict"), "{cookie}");
    assert_eq!((&answer.body["account"], &answer.body["scopes"]), (&json!("lab"), &json!(["read", "verify"])));
    assert_eq!(answer.body["expires_at"], "2025-06-15T16:06:40Z");
    assert!(!answer.body.to_string().contains(&key[10..]), "the key stays where it was");

    assert_eq!(browser.send(&app, "GET", "/verify", None).await.status, 200, "reading needs no token");
    assert_eq!(browser.send(&app, "GET", "/keys", None).await.status, 403, "it may do what its key may");
    let session = browser.send(&app, "GET", "/session", None).await;
    assert_eq!((session.status.as_u16(), &session.body), (200, &answer.body), "a page that was loaded anew asks");
    for token in [None, Some(""), Some("0")] {
        let refused = app.send(form(browser.request("POST", "/verify", token), &[POLICY, SCENARIO])).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (403, "FORBIDDEN"), "{token:?}");
        assert!(refused.message().contains("x-csrf-token"), "{}", refused.message());
    }
    let made = app.send(form(browser.request("POST", "/verify", Some(&browser.token)), &[POLICY, SCENARIO])).await;
    assert_eq!(made.status, 201, "{}", made.body);

    assert_eq!(browser.send(&app, "DELETE", "/session", None).await.status, 403, "another page can't sign it out");
    let out = browser.send(&app, "DELETE", "/session", Some(&browser.token)).await;
    assert_eq!(out.status, 204);
    assert!(out.headers["set-cookie"].to_str().unwrap().starts_with("assay_session=; Path=/; Max-Age=0;"));
    let after = browser.send(&app, "GET", "/verify", None).await;
    assert_eq!((after.status.as_u16(), after.code()), (401, "UNAUTHORIZED"));
    assert!(after.message().contains("sign in again"), "{}", after.message());
    assert_eq!(
        browser.send(&app, "DELETE", "/session", Some(&browser.token)).await.status,
        204,
        "once more is harmless"
    );
}

#[tokio::test]
async fn the_authorization_header_takes_precedence_over_the_cookie() {
    let app = TestApp::new();
    let (lab, other) = (app.key("lab", "verify,read").await, app.key("other", "verify,read").await);
    let browser = sign_in(&app, &lab).await;
    let both = |key: &str| browser.request("POST", "/verify", None).header("authorization", format!("Bearer {key}"));
    let made = app.send(form(both(&other), &[POLICY, SCENARIO])).await;
    assert_eq!(made.status, 201, "a key needs no token: {}", made.body);
    assert_eq!(app.get("/verify", &other).await.body["total"], 1);
    assert_eq!(app.send(form(both("nonsense"), &[POLICY, SCENARIO])).await.status, 401, "a bad one is not overlooked");
}

#[tokio::test]
async fn a_session_ends_by_age_and_with_its_key() {
    let app = TestApp::with(ApiSettings {
        browsers: assay_api::BrowserSettings { session_s: Duration::from_secs(600).into(), ..Default::default() },
        ..ApiSettings::default()
    });
    let key = app.key("lab", "verify,read").await;
    let (first, second) = (sign_in(&app, &key).await, sign_in(&app, &key).await);
    assert_ne!(first.cookie, second.cookie);
    app.clock.forward(599);
    assert_eq!(first.send(&app, "GET", "/verify", None).await.status, 200);
    app.clock.forward(1);
    assert_eq!(first.send(&app, "GET", "/verify", None).await.status, 401);
    assert_eq!(first.send(&app, "GET", "/session", None).await.status, 401);
    let third = sign_in(&app, &key).await;
    assert_eq!(third.send(&app, "GET", "/verify", None).await.status, 200);
    let id = KeyId::parse(key.split('_').nth(1).unwrap()).unwrap();
    app.state.records.revoke_key(&id, app.state.clock.now()).await.unwrap();
    let ended = third.send(&app, "GET", "/verify", None).await;
    assert_eq!((ended.status.as_u16(), ended.message()), (401, "the API key was revoked"));
    assert_eq!(sign_in(&app, &key).await.answer.status, 401);
}

#[tokio::test]
async fn invalid_sign_ins_are_rejected() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    for (body, status, field) in [
        (json!({ "key": "nonsense" }), 401, None),
        (json!({ "key": format!("{}0", &key[..key.len() - 1]) }), 401, None),
        (json!({}), 400, Some("key")),
        (json!({ "key": 7 }), 400, Some("key")),
        (json!({ "key": key, "more": 1 }), 400, Some("more")),
    ] {
        let answer = app.post_json("/session", "", &body).await;
        // The last digit may have been a 0 already.
        assert!(answer.status.as_u16() == status || key.ends_with('0'), "{body}: {}", answer.body);
        assert_eq!(answer.body["error"]["details"]["field"].as_str(), field, "{body}");
        assert!(!answer.headers.contains_key("set-cookie"));
    }
    let csrf_rejection = Browser {
        cookie: format!("assay_session={}", "0".repeat(64)),
        token: String::new(),
        answer: app.get("/", "").await,
    };
    assert_eq!(csrf_rejection.send(&app, "GET", "/verify", None).await.status, 401);
}

#[tokio::test]
async fn behind_https_the_cookie_is_secure() {
    let public_url = Some("https://assay.example.org".to_owned());
    let app = TestApp::with(ApiSettings { public_url, ..ApiSettings::default() });
    let browser = sign_in(&app, &app.key("lab", "read").await).await;
    assert!(browser.answer.headers["set-cookie"].to_str().unwrap().ends_with("; SameSite=Strict; Secure"));
}

#[tokio::test]
async fn signing_out_ends_the_streams_of_the_session() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let job = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    let (one, two) = (sign_in(&app, &key).await, sign_in(&app, &key).await);
    let follow = async |browser: &Browser| {
        let request = browser.request("GET", &format!("/verify/{job}/events"), None).body(Body::empty()).unwrap();
        let response = app.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        response.into_body()
    };
    let (ends, mut stays) = (follow(&one).await, follow(&two).await);
    assert_eq!(one.send(&app, "DELETE", "/session", Some(&one.token)).await.status, 204);
    let text = tokio::time::timeout(PATIENCE, ends.collect()).await.unwrap().unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&text).contains("QUEUED"));
    assert_eq!(app.post(&format!("/verify/{job}/cancel"), &key).await.status, 200);
    let mut text = String::new();
    while let Some(frame) = tokio::time::timeout(PATIENCE, stays.frame()).await.unwrap() {
        text.push_str(&String::from_utf8_lossy(&frame.unwrap().into_data().unwrap()));
    }
    assert!(text.contains("CANCELLED"), "{text}");
}

#[tokio::test]
async fn several_session_cookies_sign_the_browser_out_and_say_why() {
    let app = TestApp::new();
    let (lab, other) = (app.key("lab", "verify,read").await, app.key("other", "verify,read").await);
    let (victim, attacker) = (sign_in(&app, &lab).await, sign_in(&app, &other).await);
    // A neighbouring host plants a cookie with a longer path, which the browser sends first.
    let tossed = Browser { cookie: format!("{}; {}", attacker.cookie, victim.cookie), ..victim };
    for (method, path) in
        [("GET", "/verify"), ("GET", "/session"), ("POST", "/webhooks/secret"), ("DELETE", "/session")]
    {
        let answer = tossed.send(&app, method, path, Some(&tossed.token)).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (401, "UNAUTHORIZED"), "{method} {path}");
        assert!(answer.message().contains("2 cookies named assay_session"), "{}", answer.message());
        let cookie = answer.headers["set-cookie"].to_str().unwrap();
        assert!(cookie.starts_with("assay_session=; Path=/; Max-Age=0;"), "{cookie}");
    }
    let page = crate::ui::open(&app, "/ui/jobs", &tossed.cookie).await;
    assert_eq!((page.status.as_u16(), &page.headers["location"]), (303, &"/ui/sign-in".parse().unwrap()));
    let page = crate::ui::open(&app, "/ui/sign-in", &tossed.cookie).await;
    assert!(crate::ui::html(&page).contains("2 cookies named assay_session"), "the page says it, too");
    assert!(page.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    let again = Browser { cookie: tossed.cookie.split_once("; ").unwrap().1.to_owned(), ..tossed };
    assert_eq!(again.send(&app, "GET", "/verify", None).await.status, 200, "the session itself goes on");
}

#[tokio::test]
async fn behind_https_the_cookie_belongs_to_the_host() {
    for (url, name, path) in [
        ("https://robots.example", "__Host-assay_session", "/"),
        ("https://robots.example/assay", "__Secure-assay_session", "/assay"),
    ] {
        let app = TestApp::with(ApiSettings { public_url: Some(url.into()), ..ApiSettings::default() });
        let browser = sign_in(&app, &app.key("lab", "verify,read").await).await;
        let cookie = browser.answer.headers["set-cookie"].to_str().unwrap();
        assert!(cookie.starts_with(&format!("{name}=")), "{cookie}");
        assert!(
            cookie.ends_with(&format!("; Path={path}; Max-Age=3600; HttpOnly; SameSite=Strict; Secure")),
            "{cookie}"
        );
        let planted = format!("assay_session={}; {}", "a0".repeat(32), browser.cookie);
        let browser = Browser { cookie: planted, ..browser };
        assert_eq!(browser.send(&app, "GET", "/verify", None).await.status, 200, "{url}");
        assert_eq!(browser.send(&app, "DELETE", "/session", Some(&browser.token)).await.status, 204);
    }
}

#[tokio::test]
async fn signing_in_has_a_rate_and_signing_out_without_a_session_writes_nothing() {
    let mut settings = ApiSettings::default();
    settings.rate.sessions_per_minute = 2;
    let app = TestApp::limited(settings);
    let (lab, other) = (app.key("lab", "read").await, app.key("other", "read").await);
    let first = sign_in(&app, &lab).await;
    assert_eq!(sign_in(&app, &lab).await.answer.status, 201);
    let refused = sign_in(&app, &lab).await.answer;
    assert_eq!((refused.status.as_u16(), refused.code()), (429, "RATE_LIMITED"), "{}", refused.body);
    assert!(refused.message().contains("2 sign-ins per minute"), "{}", refused.message());
    assert_eq!(sign_in(&app, &other).await.answer.status, 201, "keys are counted apart");
    for _ in 0..2 {
        assert_eq!(first.send(&app, "DELETE", "/session", Some(&first.token)).await.status, 204, "never refused");
    }
    app.clock.forward(60);
    assert_eq!(sign_in(&app, &lab).await.answer.status, 201);
}
