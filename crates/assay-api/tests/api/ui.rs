//! The pages under `/ui`: who sees what, forms, headers, and strings that try to break out.

use assay_api::{ApiSettings, RateLimits};
use axum::body::Body;
use axum::http::Request;

use crate::app::{Answer, POLICY, Part, SCENARIO, TestApp, ZIP, request};
use crate::sessions::sign_in;

/// Every page that a browser can open.
const PAGES: [&str; 31] = [
    "/ui",
    "/ui/jobs",
    "/ui/jobs?status=FAILED&verdict=",
    "/ui/submit",
    "/ui/scenarios",
    "/ui/scenarios?collection=small&difficulty=2&cameras=without&q=the",
    "/ui/scenarios/cartpole_keepin",
    "/ui/arena",
    "/ui/arena/cartpole_keepin",
    "/ui/submissions",
    "/ui/keys",
    "/ui/operator",
    "/ui/workers",
    "/ui/webhooks",
    "/ui/models",
    "/ui/arena/cartpole_keepin/season",
    "/ui/accounts",
    "/ui/docs",
    "/ui/docs/glossary",
    "/ui/docs?q=%3Cscript%3E%20safe",
    "/ui/community",
    "/ui/community?q=arm&tag=&author=lab&sort=name",
    "/ui/collections",
    "/ui/collections/small",
    "/ui/publish",
    "/ui/reviews",
    "/ui/servers",
    "/ui/storage",
    "/ui/arena/cartpole_keepin/submit",
    "/ui/sign-in",
    "/ui/nothing",
];
/// Maximum size of a page without media, in bytes.
const MAX_PAGE_BYTES: usize = 100 << 10;

pub(crate) async fn open(app: &TestApp, path: &str, cookie: &str) -> Answer {
    app.send(Request::get(path).header("cookie", cookie).body(Body::empty()).unwrap()).await
}

fn form(path: &str, cookie: &str, fields: &[(&str, &str)]) -> axum::http::request::Builder {
    assert!(!fields.is_empty());
    Request::post(path).header("cookie", cookie).header("content-type", "application/x-www-form-urlencoded")
}

pub(crate) async fn send(app: &TestApp, path: &str, cookie: &str, fields: &[(&str, &str)]) -> Answer {
    let text: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    app.send(form(path, cookie, fields).body(Body::from(text.join("&"))).unwrap()).await
}

pub(crate) fn html(answer: &Answer) -> &str {
    assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
    answer.body.as_str().unwrap()
}

fn cookie(answer: &Answer) -> String {
    let set = answer.headers["set-cookie"].to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_person_signs_in_looks_around_and_signs_out_by_forms_alone() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    app.verify(&key, &[POLICY, SCENARIO]).await;
    assert!(html(&open(&app, "/ui", "").await).contains("href=\"/ui/sign-in\""));
    let led = open(&app, "/ui/jobs", "").await;
    assert_eq!((led.status.as_u16(), &led.headers["location"]), (303, &"/ui/sign-in".parse().unwrap()));

    let wrong = send(&app, "/ui/sign-in", "", &[("key", "secret-typo")]).await;
    assert_eq!(wrong.status, 401);
    assert!(html(&wrong).contains("not a valid API key") && !html(&wrong).contains("secret-typo"));
    assert!(!wrong.headers.contains_key("set-cookie"));
    let answer = send(&app, "/ui/sign-in", "", &[("key", &key)]).await;
    assert_eq!((answer.status.as_u16(), &answer.headers["location"]), (303, &"/ui".parse().unwrap()));
    assert!(answer.headers["set-cookie"].to_str().unwrap().ends_with("; HttpOnly; SameSite=Strict"));
    let cookie = cookie(&answer);

    for path in ["/ui", "/ui/jobs"] {
        let page = open(&app, path, &cookie).await;
        assert!(html(&page).contains("cartpole_keepin") && html(&page).contains("<span>lab</span>"), "{path}");
    }
    let none = open(&app, "/ui/jobs?status=FAILED", &cookie).await;
    assert!(html(&none).contains("No verification matches"));
    assert_eq!(open(&app, "/ui/jobs?status=FAILED&status=RUNNING", &cookie).await.status, 400);
    assert_eq!(open(&app, "/ui/sign-in", &cookie).await.status, 303, "already signed in");

    let token = app.send(Request::get("/session").header("cookie", &cookie).body(Body::empty()).unwrap()).await;
    let token = token.body["csrf_token"].as_str().unwrap().to_owned();
    for forged in [&[("csrf", "")][..], &[("csrf", &*"0".repeat(64))], &[("other", &token)]] {
        let refused = send(&app, "/ui/sign-out", &cookie, forged).await;
        assert_eq!(refused.status, 403, "{forged:?}");
        assert!(html(&refused).contains("token"));
    }
    assert!(html(&open(&app, "/ui", &cookie).await).contains(&format!("name=\"csrf\" value=\"{token}\"")));
    let out = send(&app, "/ui/sign-out", &cookie, &[("csrf", &token)]).await;
    assert_eq!((out.status.as_u16(), &out.headers["location"]), (303, &"/ui".parse().unwrap()));
    assert!(out.headers["set-cookie"].to_str().unwrap().starts_with("assay_session=; Path=/; Max-Age=0;"));
    assert_eq!(open(&app, "/ui/jobs", &cookie).await.status, 303, "the session has ended");
}

#[tokio::test]
async fn signing_in_takes_no_session_that_existed_before() {
    let app = TestApp::new();
    let key = app.key("lab", "read").await;
    let planted = sign_in(&app, &app.key("other", "read").await).await.cookie;
    let own = cookie(&send(&app, "/ui/sign-in", &planted, &[("key", &key)]).await);
    assert_ne!(own, planted);
    assert_eq!(open(&app, "/ui/jobs", &planted).await.status, 303, "the earlier session has ended");
    assert!(html(&open(&app, "/ui", &own).await).contains("<span>lab</span>"));
}

#[tokio::test]
async fn another_site_cannot_sign_a_browser_in() {
    let app = TestApp::new();
    let key = app.key("attacker", "read").await;
    let field: &[(&str, &str)] = &[("key", &key)];
    for (name, value, status) in [
        ("sec-fetch-site", "cross-site", 403),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "same-origin", 303),
    ] {
        let request = form("/ui/sign-in", "", field).header("host", "assay.test").header(name, value);
        let answer = app.send(request.body(Body::from(format!("key={key}"))).unwrap()).await;
        assert_eq!(answer.status, status, "{name}: {value}");
        assert_eq!(answer.headers.contains_key("set-cookie"), status == 303);
    }
}

#[tokio::test]
async fn every_page_forbids_foreign_and_inline_code_and_is_small() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    for _ in 0..20 {
        app.verify(&key, &[POLICY, SCENARIO]).await;
    }
    let signed_in = sign_in(&app, &key).await.cookie;
    for (path, cookie) in PAGES.iter().flat_map(|path| [(path, ""), (path, &*signed_in)]) {
        let answer = open(&app, path, cookie).await;
        if answer.status == 303 {
            continue;
        }
        let text = html(&answer);
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe") && !policy.contains('*'));
        for directive in ["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"] {
            assert!(policy.contains(directive), "{path}: {policy}");
        }
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["referrer-policy"], "same-origin");
        assert_eq!(answer.headers["cache-control"], "no-store");
        for inline in ["<script", "<style", " style=", " onclick", "javascript:", "\"http:", "\"https:", "\"//"] {
            assert!(!text.contains(inline), "{path} contains {inline}");
        }
        assert!(text.len() < MAX_PAGE_BYTES, "{path} has {} bytes", text.len());
        let (_, rest) = text.split_once("rel=\"stylesheet\" href=\"").unwrap();
        let style = app.get(rest.split('"').next().unwrap(), "").await;
        assert_eq!(style.headers["content-type"], "text/css; charset=utf-8");
        assert!(style.headers["cache-control"].to_str().unwrap().contains("immutable"));
    }
}

#[tokio::test]
async fn pages_show_another_account_nothing() {
    let app = TestApp::new();
    let owner = app.key("lab", "verify,read").await;
    let named = [Part::File("policy", "unmistakable.zip", ZIP), SCENARIO];
    let job = app.verify(&owner, &named).await.body["job_id"].as_str().unwrap().to_owned();
    let own = sign_in(&app, &owner).await.cookie;
    assert!(html(&open(&app, "/ui/jobs", &own).await).contains("unmistakable"));
    for scopes in ["read", "verify,read", "verify", "read,review"] {
        let stranger = sign_in(&app, &app.key("other", scopes).await).await.cookie;
        for path in PAGES {
            let answer = open(&app, path, &stranger).await;
            let text = answer.body.as_str().unwrap_or_default();
            assert!(!text.contains("unmistakable") && !text.contains(&job), "{path} with {scopes}");
            let allowed = match path {
                "/ui/sign-in" | "/ui/nothing" | "/ui/docs" | "/ui/docs/glossary" | "/ui/docs?q=%3Cscript%3E%20safe" => {
                    true
                }
                "/ui/arena/cartpole_keepin/submit" => scopes.contains("submit"),
                "/ui/arena/cartpole_keepin/season" => scopes.contains("admin"),
                "/ui/publish" => scopes.contains("publish"),
                "/ui/reviews" => scopes.contains("review"),
                "/ui/submit" => scopes.contains("verify"),
                "/ui/keys" | "/ui/operator" | "/ui/workers" | "/ui/accounts" | "/ui/servers" | "/ui/storage" => {
                    scopes.contains("admin")
                }
                _ => scopes != "verify",
            };
            assert_eq!(answer.status != 403, allowed, "{path} with {scopes}");
        }
    }
    let by_key = app.get("/ui", &owner).await;
    assert!(!html(&by_key).contains("unmistakable"), "a key alone opens no page");
}

#[tokio::test]
async fn hostile_names_are_text() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let hostile = "<img src=x onerror=alert(1)>'&<!--";
    let made = app.verify(&key, &[Part::File("policy", &format!("{hostile}.zip"), ZIP), SCENARIO]).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let cookie = sign_in(&app, &key).await.cookie;
    for path in ["/ui", "/ui/jobs"] {
        let page = open(&app, path, &cookie).await;
        let text = html(&page);
        assert!(text.contains("onerror=alert(1)"), "the name is shown: {path}");
        assert!(!text.contains("<img") && !text.contains("<!--"), "{path}");
    }
    let query = "/ui/jobs?status=%22%3E%3Cimg%20src%3Dx%3E&verdict=%3Cb%3E&limit=1&offset=5";
    let page = open(&app, query, &cookie).await;
    assert!(!html(&page).contains("<img") && !html(&page).contains("<b>"));
    let page = open(&app, "/ui/jobs?limit=%3Cimg%3E", &cookie).await;
    assert!(page.status == 400 && !html(&page).contains("<img"));
}

#[tokio::test]
async fn a_browser_is_led_to_the_pages_and_a_program_is_not() {
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (public_url, place) in [(None, "/ui"), (Some("https://x.test/assay/"), "/assay/ui")] {
        let public_url = public_url.map(str::to_owned);
        let app = TestApp::with(ApiSettings { public_url, ..ApiSettings::default() });
        for path in ["/", "/v1"] {
            let ask = |accept: &str| request("GET", path, "").header("accept", accept).body(Body::empty()).unwrap();
            let led = app.send(ask(browser)).await;
            assert_eq!((led.status.as_u16(), led.headers["location"].to_str().unwrap()), (303, place));
            for program in ["*/*", "application/json", "application/json, text/html"] {
                let answer = app.send(ask(program)).await;
                assert_eq!((answer.status.as_u16(), &answer.body["name"]), (200, &"assay".into()), "{program}");
                assert_eq!(answer.headers["vary"], "accept");
            }
        }
        let page = app.get("/ui", "").await;
        assert!(html(&page).contains(&format!("href=\"{place}/sign-in\"")), "links keep the proxy's prefix");
    }
}

#[tokio::test]
async fn pages_have_a_rate_limit_of_their_own() {
    let rate = RateLimits { pages_per_minute: 2, ..RateLimits::all(1_000_000) };
    let app = TestApp::limited(ApiSettings { rate, ..ApiSettings::default() });
    let cookie = sign_in(&app, &app.key("lab", "read").await).await.cookie;
    for status in [200, 200, 429] {
        assert_eq!(open(&app, "/ui", &cookie).await.status, status);
    }
    assert_eq!(open(&app, "/verify", &cookie).await.status, 200, "the API's limits are others");
    assert_eq!(open(&app, "/ui", "").await.status, 200, "strangers are not counted");
}

#[tokio::test]
async fn long_lists_have_pages() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let done = app.completed(&key, 1).await;
    for _ in 0..3 {
        app.verify(&key, &[POLICY, SCENARIO]).await;
    }
    let cookie = sign_in(&app, &key).await.cookie;
    let first = open(&app, "/ui/jobs", &cookie).await;
    assert!(!html(&first).contains("aria-label=\"Pages\""));
    assert!(html(&first).contains(&format!("href=\"/ui/verifications/{done}\"")), "a job leads to its page");
    let middle = open(&app, "/ui/jobs?limit=1&offset=1", &cookie).await;
    assert!(html(&middle).contains("Newer") && html(&middle).contains("Older"));
    assert_eq!(html(&middle).matches("<time").count(), 1);
    assert!(html(&middle).contains("limit=1&#38;offset=2"), "neighbours have the same length");
}
