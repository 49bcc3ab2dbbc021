//! Every endpoint with every kind of key, and of browser session.

use assay_api::{ApiSettings, EndpointInfo, MetricsAccess, RateClass, endpoints};
use assay_model::{Scope, Scopes};
use assay_testkit::PATIENCE;

use crate::app::{Answer, POLICY, Part, SCENARIO, TestApp, request};
use crate::sessions::{Browser, sign_in};

/// The endpoint's path with parameters that name nothing.
fn path(endpoint: &EndpointInfo) -> String {
    endpoint
        .path
        .replace("{id}", "nothing")
        .replace("{file}", "nothing")
        .replace("{name}", "nothing")
        .replace("{job_id}", "00000000-0000-7000-8000-000000000000")
}

async fn ask(app: &TestApp, endpoint: &EndpointInfo, prefix: &str, key: &str) -> Answer {
    let path = format!("{prefix}{}", path(endpoint));
    app.send(request(endpoint.method, &path, key).body(axum::body::Body::empty()).unwrap()).await
}

/// What an endpoint answers to the bare request of `ask` with a sufficient key.
fn expected(endpoint: &EndpointInfo) -> u16 {
    match (endpoint.method, endpoint.path) {
        ("GET", "/readyz") => 503,
        ("GET", "/session" | "/connections/{job_id}") => 401,
        ("DELETE", "/session") => 204,
        (
            "POST",
            "/session"
            | "/verify"
            | "/submissions"
            | "/preflight"
            | "/community/scenarios"
            | "/keys"
            | "/seasons"
            | "/seasons/close"
            | "/workers"
            | "/workers/{name}/drain"
            | "/verify/{job_id}/review",
        ) => 415,
        ("GET", "/artifacts/{job_id}/{sha256}/{name}" | "/thumbnails/{digest}") => 403,
        ("GET", "/docs" | "/docs/") | ("POST", "/ui/sign-out") => 303,
        // A key in a header opens no page; it leads to the form for signing in.
        (_, path)
            if path.starts_with("/ui/")
                && !path.starts_with("/ui/docs")
                && !matches!(path, "/ui/sign-in" | "/ui/{file}") =>
        {
            303
        }
        ("POST", "/ui/sign-in") => 415,
        ("GET", "/ui" | "/ui/sign-in" | "/ui/docs") => 200,
        (
            "GET",
            "/.well-known/assay-keys.json"
            | "/"
            | "/openapi.json"
            | "/healthz"
            | "/scenarios"
            | "/collections"
            | "/runtimes"
            | "/models"
            | "/workers"
            | "/accesses"
            | "/accounts"
            | "/reviews"
            | "/servers"
            | "/storage"
            | "/community/scenarios"
            | "/verify"
            | "/submissions"
            | "/leaderboard"
            | "/seasons"
            | "/webhooks/deliveries"
            | "/keys",
        ) => 200,
        ("POST", "/keys/rotate") => 201,
        _ => 404,
    }
}

/// Returns true if no single scope decides. Such endpoints have tests of their own: `rotation_*`, those of webhooks and
/// of metrics.
fn has_a_rule_of_its_own(endpoint: &EndpointInfo) -> bool {
    endpoint.needs_key && endpoint.scope.is_none() || endpoint.path == "/metrics"
}

#[tokio::test]
async fn each_endpoint_takes_its_scope_and_no_other() {
    let app = TestApp::new();
    let all = app.key("lab", &Scopes::all().to_string()).await;
    for endpoint in endpoints().into_iter().filter(|endpoint| !has_a_rule_of_its_own(endpoint)) {
        for prefix in ["", "/v1"] {
            let answer = ask(&app, &endpoint, prefix, &all).await;
            assert_eq!(answer.status.as_u16(), expected(&endpoint), "{endpoint:?} with all scopes");
            let Some(scope) = endpoint.scope else {
                let answer = ask(&app, &endpoint, prefix, "").await;
                assert_eq!(answer.status.as_u16(), expected(&endpoint), "{endpoint:?} without a key");
                continue;
            };
            let only = app.key("lab", scope.as_str()).await;
            let answer = ask(&app, &endpoint, prefix, &only).await;
            assert_eq!(answer.status.as_u16(), expected(&endpoint), "{endpoint:?} with its scope alone");
            let others: Scopes = Scope::ALL.into_iter().filter(|s| *s != scope).collect();
            let lacking = app.key("lab", &others.to_string()).await;
            let answer = ask(&app, &endpoint, prefix, &lacking).await;
            assert_eq!((answer.status.as_u16(), answer.code()), (403, "FORBIDDEN"), "{endpoint:?}");
            assert_eq!(answer.message(), format!("the key lacks the scope {scope}"));
        }
    }
}

#[tokio::test]
async fn metrics_are_for_administrators_unless_a_setting_opens_them() {
    for (metrics, scopes, status) in [
        (MetricsAccess::Admin, "", 403),
        (MetricsAccess::Admin, "read,review", 403),
        // Admitted: these servers have none.
        (MetricsAccess::Admin, "admin", 404),
        (MetricsAccess::Loopback, "admin", 404),
        (MetricsAccess::Loopback, "read,review", 403),
        (MetricsAccess::Any, "", 404),
    ] {
        let app = TestApp::with(ApiSettings { metrics, ..ApiSettings::default() });
        let key = if scopes.is_empty() { String::new() } else { app.key("lab", scopes).await };
        assert_eq!(app.get("/metrics", &key).await.status, status, "{metrics:?} {scopes}");
    }
}

#[tokio::test]
async fn each_endpoint_refuses_bad_keys() {
    let app = TestApp::new();
    let all = Scopes::all().to_string();
    let (revoked, expired) = (app.key("lab", &all).await, app.key("lab", &all).await);
    let id = assay_store::KeyId::parse(revoked.split('_').nth(1).unwrap()).unwrap();
    app.state.records.revoke_key(&id, app.state.clock.now()).await.unwrap();
    app.clock.forward(3600);
    let good = app.key("lab", &all).await;
    let (head, secret) = good.rsplit_once('_').unwrap();
    let flipped = if secret.starts_with('0') { "1" } else { "0" };
    let bad = [
        (String::new(), "an API key is needed"),
        ("nonsense".into(), "not of the form"),
        ("assay_x_y".into(), "not of the form"),
        (format!("{head}_{flipped}{}", &secret[1..]), "is not known"),
        (format!("assay_nobody_{secret}"), "is not known"),
        (revoked, "was revoked"),
        (expired, "has expired"),
    ];
    let unknown = EndpointInfo {
        method: "GET",
        path: "/no/such/path",
        scope: Some(Scope::Read),
        needs_key: true,
        rate: RateClass::Get,
        documented: false,
        cacheable: false,
    };
    for endpoint in endpoints().into_iter().filter(|e| e.needs_key).chain([unknown]) {
        for (key, message) in &bad {
            let answer = ask(&app, &endpoint, "", key).await;
            assert_eq!((answer.status.as_u16(), answer.code()), (401, "UNAUTHORIZED"), "{endpoint:?} {key}");
            assert!(answer.message().contains(message), "{} instead of {message}", answer.message());
            let challenge = answer.headers["www-authenticate"].to_str().unwrap();
            assert!(challenge.starts_with("Bearer realm=\"assay\""), "{challenge}");
        }
    }
}

#[tokio::test]
async fn each_endpoint_takes_a_browser_that_signed_in_with_its_scope() {
    let app = TestApp::new();
    let all = sign_in(&app, &app.key("lab", &Scopes::all().to_string()).await).await;
    for endpoint in endpoints() {
        let Some(scope) = endpoint.scope else { continue };
        let path = path(&endpoint);
        let ask = async |browser: &Browser, token: Option<&str>| {
            let answer = browser.send(&app, endpoint.method, &path, token).await;
            (answer.status.as_u16(), answer.message().to_owned())
        };
        let with_token = ask(&all, Some(&all.token)).await;
        assert_eq!(with_token.0, expected(&endpoint), "{endpoint:?} with all scopes");
        for token in [None, Some(""), Some(&*"0".repeat(64))] {
            let (status, message) = ask(&all, token).await;
            if endpoint.method == "GET" {
                assert_eq!(status, expected(&endpoint), "{endpoint:?}: reading needs no token");
            } else {
                assert_eq!(status, 403, "{endpoint:?} with the token {token:?}");
                assert!(message.contains("x-csrf-token"), "{endpoint:?}: {message}");
            }
        }
        let others: Scopes = Scope::ALL.into_iter().filter(|s| *s != scope).collect();
        let lacking = sign_in(&app, &app.key("lab", &others.to_string()).await).await;
        let refused = ask(&lacking, Some(&lacking.token)).await;
        assert_eq!(refused, (403, format!("the key lacks the scope {scope}")), "{endpoint:?}");
    }
}

#[tokio::test]
async fn each_endpoint_refuses_bad_sessions() {
    let app = TestApp::new();
    let all = Scopes::all().to_string();
    let expired = sign_in(&app, &app.key("lab", &all).await).await;
    app.clock.forward(3600);
    let key = app.key("lab", &all).await;
    let revoked = sign_in(&app, &key).await;
    let id = assay_store::KeyId::parse(key.split('_').nth(1).unwrap()).unwrap();
    app.state.records.revoke_key(&id, app.state.clock.now()).await.unwrap();
    let out = sign_in(&app, &app.key("lab", &all).await).await;
    assert_eq!(out.send(&app, "DELETE", "/session", Some(&out.token)).await.status, 204);
    let unknown = Browser { cookie: format!("assay_session={}", "0".repeat(64)), ..sign_in(&app, &key).await };
    let malformed = Browser { cookie: "assay_session=0".into(), ..sign_in(&app, &key).await };
    let bad = [
        (revoked, "the API key was revoked"),
        (expired, "the session has ended"),
        (out, "the session has ended"),
        (unknown, "the session has ended"),
        (malformed, "an API key is needed"),
    ];
    for endpoint in endpoints().into_iter().filter(|e| e.needs_key) {
        for (browser, message) in &bad {
            let answer = browser.send(&app, endpoint.method, &path(&endpoint), Some(&browser.token)).await;
            assert_eq!((answer.status.as_u16(), answer.code()), (401, "UNAUTHORIZED"), "{endpoint:?} {message}");
            assert!(answer.message().contains(message), "{} instead of {message}", answer.message());
            let challenge = answer.headers["www-authenticate"].to_str().unwrap();
            assert!(challenge.starts_with("Bearer realm=\"assay\""), "{challenge}");
        }
    }
}

#[tokio::test]
async fn each_endpoint_hides_what_is_another_accounts() {
    let app = TestApp::new();
    let owner = app.key("lab", &Scopes::all().to_string()).await;
    let job = app.verify(&owner, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    let made = app.submit(&owner, &[POLICY, Part::Text("scenario_id", "cartpole_keepin")]).await;
    let submission = made.body["submission_id"].as_str().unwrap().to_owned();
    let mut tried = 0;
    for endpoint in endpoints() {
        // A key that reviews sees everybody's.
        let Some(scope) = endpoint.scope.filter(|scope| *scope != Scope::Review && *scope != Scope::Admin) else {
            continue;
        };
        let own = match endpoint.path {
            path if path.contains("{job_id}") => path.replace("{job_id}", &job),
            path if path.starts_with("/submissions/{id}") => path.replace("{id}", &submission),
            _ => continue,
        };
        let stranger = app.key("other", scope.as_str()).await;
        let bare = |path: &str| request(endpoint.method, path, &stranger).body(axum::body::Body::empty()).unwrap();
        let (theirs, nobodys) = (app.send(bare(&own)).await, app.send(bare(&path(&endpoint))).await);
        assert_eq!((theirs.status.as_u16(), theirs.code()), (404, "NOT_FOUND"), "{endpoint:?}");
        // The response does not even reveal that it exists.
        assert_eq!((theirs.status, theirs.message()), (nobodys.status, nobodys.message()), "{endpoint:?}");
        tried += 1;
    }
    assert!(tried > 8, "only {tried} endpoints have another account's id in their path");
    let listed = app.get("/verify", &app.key("other", "read").await).await;
    assert_eq!(listed.body["total"], 0);
}

#[tokio::test]
async fn odd_headers_are_malformed_keys() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    for (value, status) in [
        (format!("bearer {key}"), 200),
        (format!("BEARER   {key}  "), 200),
        (format!("Basic {key}"), 401),
        (key.clone(), 401),
        (format!("Bearer {key}x"), 401),
    ] {
        let request = request("GET", "/scenarios", "").header("authorization", &value);
        let answer = app.send(request.body(axum::body::Body::empty()).unwrap()).await;
        assert_eq!(answer.status.as_u16(), status, "{value}");
    }
    let twice = request("GET", "/scenarios", &key).header("authorization", format!("Bearer {key}"));
    assert_eq!(app.send(twice.body(axum::body::Body::empty()).unwrap()).await.status, 401);
}

#[tokio::test]
async fn the_use_of_a_key_is_noted_once_a_minute() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    let id = assay_store::KeyId::parse(key.split('_').nth(1).unwrap()).unwrap();
    for (forward, expected) in [(1, 1), (30, 1), (31, 62)] {
        app.clock.forward(forward);
        app.get("/scenarios", &key).await;
        let mut noted = None;
        let until = std::time::Instant::now() + PATIENCE;
        while std::time::Instant::now() < until {
            noted =
                app.state.records.key(&id).await.unwrap().unwrap().last_used_at.map(|t| t.as_second() - 1_750_000_000);
            if noted == Some(expected) {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(noted, Some(expected));
    }
}

fn json(method: &str, path: &str, key: &str, body: &serde_json::Value) -> axum::http::Request<axum::body::Body> {
    let request = request(method, path, key).header("content-type", "application/json");
    request.body(axum::body::Body::from(body.to_string())).unwrap()
}

#[tokio::test]
async fn a_key_is_made_used_and_revoked() {
    let app = TestApp::new();
    let admin = app.key("root", "admin,read").await;
    let payload = serde_json::json!({ "name": "robot", "scopes": ["read"], "account": "lab" });
    let made = app.send(json("POST", "/keys", &admin, &payload)).await;
    assert_eq!((made.status.as_u16(), &made.body["account"]), (201, &serde_json::json!("lab")), "{}", made.body);
    let key = made.body["key"].as_str().unwrap();
    assert_eq!(app.get("/verify", key).await.status, 200);
    let list = app.get("/keys", &admin).await.body;
    assert_eq!(list["keys"].as_array().unwrap().len(), 2);
    assert!(!list.to_string().contains(key.rsplit('_').next().unwrap()), "a secret is in the list");
    let path = format!("/keys/{}", made.body["id"].as_str().unwrap());
    for _ in 0..2 {
        let answer = app.send(request("DELETE", &path, &admin).body(axum::body::Body::empty()).unwrap()).await;
        assert_eq!(answer.status, 204);
    }
    assert_eq!(app.get("/verify", key).await.status, 401);
}

#[tokio::test]
async fn the_last_admin_key_stays() {
    let app = TestApp::new();
    let (admin, other) = (app.key("root", "admin,read").await, app.key("root", "admin").await);
    let revoke = async |key: &str| {
        let path = format!("/keys/{}", key.split('_').nth(1).unwrap());
        app.send(request("DELETE", &path, &admin).body(axum::body::Body::empty()).unwrap()).await
    };
    assert_eq!(revoke(&other).await.status, 204);
    let kept = revoke(&admin).await;
    assert_eq!(kept.status, 409, "{}", kept.body);
    assert!(kept.body["error"]["message"].as_str().unwrap().contains("POST /keys"), "{}", kept.body);
    assert_eq!(app.get("/keys", &admin).await.status, 200);
}

#[tokio::test]
async fn wrong_wishes_for_keys() {
    let app = TestApp::new();
    let admin = app.key("root", "admin,read").await;
    for (payload, status, field) in [
        (serde_json::json!({ "name": "x", "scopes": ["verify"] }), 403, None),
        (serde_json::json!({ "name": "x", "scopes": [] }), 400, Some("scopes")),
        (serde_json::json!({ "name": "x" }), 400, Some("scopes")),
        (serde_json::json!({ "name": "", "scopes": ["read"] }), 400, Some("name")),
        (serde_json::json!({ "name": "x".repeat(101), "scopes": ["read"] }), 400, Some("name")),
        (
            serde_json::json!({ "name": "x", "scopes": ["read"], "expires_at": "2020-01-01T00:00:00Z" }),
            400,
            Some("expires_at"),
        ),
        (serde_json::json!({ "name": "x", "scopes": ["read"], "role": "god" }), 400, Some("role")),
        (serde_json::json!({ "name": "x", "scopes": ["all"] }), 400, Some("scopes")),
        (serde_json::json!({ "name": "x", "scopes": ["read"], "account": "No!" }), 400, Some("account")),
        (serde_json::json!([]), 400, Some("body")),
    ] {
        let answer = app.send(json("POST", "/keys", &admin, &payload)).await;
        assert_eq!(answer.status.as_u16(), status, "{payload}: {}", answer.body);
        assert_eq!(answer.body["error"]["details"]["field"].as_str(), field, "{payload}: {}", answer.body);
    }
    assert_eq!(app.state.records.keys(None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn rotation_puts_a_key_in_the_place_of_the_one_that_asks() {
    let app = TestApp::new();
    for (prefix, scopes) in [("", "verify,read"), ("/v1", "read"), ("", "admin,read")] {
        let old = app.key("lab", scopes).await;
        let id = |key: &str| assay_store::KeyId::parse(key.split('_').nth(1).unwrap()).unwrap();
        let before = app.state.records.key(&id(&old)).await.unwrap().unwrap();
        let rotated = app.post(&format!("{prefix}/keys/rotate"), &old).await;
        assert_eq!(rotated.status, 201, "{}", rotated.body);
        let new = rotated.body["key"].as_str().unwrap();
        let after = app.state.records.key(&id(new)).await.unwrap().unwrap();
        let kept = |key: &assay_store::KeyRecord| {
            (key.account.clone(), key.name.clone(), key.scopes.clone(), key.expires_at, key.revoked_at)
        };
        assert_eq!(kept(&after), kept(&before));
        assert_eq!(rotated.body["id"], after.id.as_str());
        let refused = app.get("/verify", &old).await;
        assert_eq!((refused.status.as_u16(), refused.message()), (401, "the API key was revoked"));
        assert_eq!(app.get("/verify", new).await.status, 200);
        assert_eq!(app.post("/keys/rotate", &old).await.status, 401, "once");
    }
}

#[tokio::test]
async fn rotation_works_with_the_last_admin_key() {
    let app = TestApp::new();
    let rotated = app.post("/keys/rotate", &app.key("root", "admin").await).await;
    let keys = app.get("/keys", rotated.body["key"].as_str().unwrap()).await.body;
    let valid = |key: &&serde_json::Value| key["revoked_at"].is_null();
    assert_eq!(keys["keys"].as_array().unwrap().iter().filter(valid).count(), 1, "{keys}");
}

#[tokio::test]
async fn rotation_takes_the_key_itself() {
    let app = TestApp::new();
    let key = app.key("lab", &Scopes::all().to_string()).await;
    let browser = sign_in(&app, &key).await;
    let refused = browser.send(&app, "POST", "/keys/rotate", Some(&browser.token)).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (403, "FORBIDDEN"));
    assert!(refused.message().contains("Authorization"), "{}", refused.message());
    assert_eq!(app.post("/keys/rotate", "").await.status, 401);
    assert_eq!(app.post("/keys/rotate", &key).await.status, 201, "the session rotated nothing");
    let ended = browser.send(&app, "GET", "/verify", None).await;
    assert_eq!((ended.status.as_u16(), ended.message()), (401, "the API key was revoked"));
}

#[tokio::test]
async fn a_rotation_is_not_repeated_by_the_key_that_it_made() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    let rotate = async |key: &str| {
        let named = request("POST", "/keys/rotate", key).header("idempotency-key", "one");
        app.send(named.body(axum::body::Body::empty()).unwrap()).await
    };
    let first = rotate(&key).await;
    let new = first.body["key"].as_str().unwrap();
    let again = rotate(new).await;
    assert_eq!((again.status.as_u16(), again.code()), (409, "CONFLICT"), "{}", again.body);
    assert_eq!(app.get("/verify", new).await.status, 200);
}

#[tokio::test]
async fn rotation_brings_no_further_window() {
    let app = TestApp::limited(assay_api::ApiSettings { rate: assay_api::RateLimits::all(2), ..Default::default() });
    let mut key = app.key("lab", "read").await;
    for left in [1, 0] {
        let rotated = app.post("/keys/rotate", &key).await;
        assert_eq!(rotated.headers["x-ratelimit-remaining"], left.to_string().as_str());
        rotated.body["key"].as_str().unwrap().clone_into(&mut key);
    }
    assert_eq!(app.post("/keys/rotate", &key).await.status, 429);
}

/// A body whose second half comes once the key with this id was revoked.
fn held_open(app: &TestApp, id: &assay_store::KeyId, halves: [&'static str; 2]) -> axum::body::Body {
    let (records, id, now) = (app.state.records.clone(), id.clone(), app.state.clock.now());
    let parts = futures_util::stream::unfold(0, move |step| {
        let (records, id) = (records.clone(), id.clone());
        async move {
            if step == 1 {
                assert!(records.revoke_key(&id, now).await.unwrap());
            }
            Some((Ok::<_, std::io::Error>(*halves.get(step)?), step + 1))
        }
    });
    axum::body::Body::from_stream(parts)
}

#[tokio::test]
async fn a_key_revoked_while_its_request_is_received_has_no_effect() {
    let app = TestApp::new();
    let admin = app.key("root", &Scopes::all().to_string()).await;
    let id = assay_store::KeyId::parse(admin.split('_').nth(1).unwrap()).unwrap();
    let body = held_open(&app, &id, [r#"{"name": "heir", "sco"#, r#"pes": ["admin"]}"#]);
    let request = request("POST", "/keys", &admin).header("content-type", "application/json").body(body).unwrap();
    let refused = app.send(request).await;
    assert_eq!((refused.status.as_u16(), refused.message()), (401, "the API key was revoked"));
    assert_eq!(app.state.records.keys(None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn rotations_of_two_keys_with_one_idempotency_key_are_separate() {
    let app = TestApp::new();
    let rotated = async |key: &str| {
        let named = request("POST", "/keys/rotate", key).header("idempotency-key", "nightly");
        app.send(named.body(axum::body::Body::empty()).unwrap()).await.status.as_u16()
    };
    let (one, two) = (app.key("lab", "read").await, app.key("lab", "read").await);
    assert_eq!((rotated(&one).await, rotated(&two).await), (201, 409));
    assert_eq!(app.get("/verify", &two).await.status, 200, "it was not rotated");
}
