//! The pages of the community: publishing, browsing and deleting scenarios, collections, reviews.

use assay_api::{AccountLimits, ApiSettings};
use assay_model::{EpisodeResult, Termination};
use axum::http::Request;
use serde_json::json;

use crate::app::{Answer, POLICY, Part, SCENARIO, TestApp, form, request};
use crate::sessions::{Browser, sign_in};
use crate::ui::{html, open, send};

const HOSTILE: &str = "<img src=x>'\"&<!--";

async fn publish(app: &TestApp, browser: &Browser, token: &str, content: &str, tags: &str) -> Answer {
    let parts =
        [Part::Text("csrf", token), Part::File("scenario", "s.zip", content.as_bytes()), Part::Text("tags", tags)];
    app.send(form(Request::post("/ui/publish").header("cookie", &browser.cookie), &parts)).await
}

#[tokio::test]
async fn a_scenario_is_published_found_and_deleted_by_forms() {
    let app = TestApp::new();
    let browser = sign_in(&app, &app.key("lab", "publish,read").await).await;
    let made = publish(&app, &browser, &browser.token, "reach 1.0.0", "arm, new").await;
    assert_eq!(made.status, 201, "{}", made.body);
    for part in ["lab.reach", "1.0.0", "arm", "It can be drawn", "/ui/submit?scenario=lab.reach"] {
        assert!(html(&made).contains(part), "{part} is missing in {}", html(&made));
    }
    let second = publish(&app, &browser, &browser.token, "reach 1.1.0", "").await;
    assert!(html(&second).contains("one of 2 versions"), "{}", html(&second));
    assert_eq!(publish(&app, &browser, &browser.token, "push 1.0.0", "").await.status, 201);

    let list =
        async |query: &str| html(&open(&app, &format!("/ui/community{query}"), &browser.cookie).await).to_owned();
    let all = list("").await;
    assert!(all.contains("2 found") && all.contains("lab.push") && all.contains("by lab"), "{all}");
    assert!(all.find("lab.push").unwrap() < all.find("lab.reach").unwrap(), "newest first");
    for (query, found) in [("?q=reach", 1), ("?author=lab", 2), ("?author=other", 0), ("?tag=new&sort=name", 0)] {
        let page = list(query).await;
        assert_eq!(page.matches("<li class=\"card\">").count(), found, "{query}: {page}");
    }
    assert!(list("?limit=1").await.contains("limit=1&#38;offset=1"));
    assert_eq!(open(&app, "/ui/community?sort=best", &browser.cookie).await.status, 400);
    let page = open(&app, "/ui/scenarios/lab.reach", &browser.cookie).await;
    for part in ["?version=1.1.0", "?version=1.0.0", "/ui/scenarios/lab.reach/delete", "/ui/community?author=lab"] {
        assert!(html(&page).contains(part), "{part} is missing");
    }

    let question = open(&app, "/ui/scenarios/lab.reach/delete", &browser.cookie).await;
    assert!(html(&question).contains("cannot be undone"), "{}", question.body);
    let other = sign_in(&app, &app.key("other", "publish,read").await).await;
    assert!(!html(&open(&app, "/ui/scenarios/lab.reach", &other.cookie).await).contains("/delete"));
    let path = "/ui/scenarios/lab.reach/delete";
    assert_eq!(open(&app, path, &other.cookie).await.status, 404, "another account");
    for (cookie, token, status) in
        [(&other.cookie, &*other.token, 404), (&browser.cookie, "", 403), (&browser.cookie, &*browser.token, 303)]
    {
        assert_eq!(send(&app, path, cookie, &[("csrf", token)]).await.status, status);
    }
    assert!(!list("").await.contains("lab.reach"));
    assert_eq!(open(&app, "/ui/scenarios/lab.reach", &browser.cookie).await.status, 410);
}

#[tokio::test]
async fn what_the_check_finds_is_on_the_page() {
    let account = AccountLimits { failed_publications_per_day: 3, ..AccountLimits::default() };
    let app = TestApp::with(ApiSettings { account, ..ApiSettings::default() });
    let browser = sign_in(&app, &app.key("lab", "publish,read").await).await;
    let wrong = publish(&app, &browser, "", "reach 1.0.0", "").await;
    assert_eq!(wrong.status, 403, "a form without the session's token");
    for (content, tags, status, message) in [
        ("broken 1.0.0", "", 400, "scenario.toml: difficulty: must be 1 to 5"),
        ("nothing", "", 400, "no archive"),
        ("fine 1.0.0", HOSTILE, 400, "tags: "),
        ("busy 1.0.0", "", 503, "could not be checked: another process stopped the check"),
        ("fine 1.0.0", "", 429, "3 scenarios of your account were checked"),
    ] {
        let refused = publish(&app, &browser, &browser.token, content, tags).await;
        assert_eq!(refused.status, status, "{content}: {}", refused.body);
        assert!(html(&refused).contains(message) && !html(&refused).contains("<img"), "{}", html(&refused));
    }
    assert_eq!(app.leftovers(), 0);
    let reader = sign_in(&app, &app.key("other", "read").await).await;
    assert_eq!(publish(&app, &reader, &reader.token, "reach 1.0.0", "").await.status, 403);
    assert_eq!(open(&app, "/ui/publish", &reader.cookie).await.status, 403);
    let list = open(&app, "/ui/community", &reader.cookie).await;
    assert!(html(&list).contains("0 found") && !html(&list).contains("/ui/publish"), "nothing was published");
}

#[tokio::test]
async fn a_collection_shows_its_scenarios_and_its_board() {
    let app = TestApp::new();
    let key = app.key("swift", "read,submit").await;
    let cookie = sign_in(&app, &key).await.cookie;
    let list = open(&app, "/ui/collections", &cookie).await;
    assert!(html(&list).contains("href=\"/ui/collections/small\"") && html(&list).contains("2 scenarios"));
    let empty = open(&app, "/ui/collections/small", &cookie).await;
    assert!(html(&empty).contains("Board: 0 accounts"), "{}", html(&empty));
    app.submitted(&key).await;
    let page = open(&app, "/ui/collections/small", &cookie).await;
    for part in
        ["Two of them.", "href=\"/ui/scenarios/tabletop_reach\"", "Board: 1 account", "<strong>1</strong>", "swift"]
    {
        assert!(html(&page).contains(part), "{part} is missing in {}", html(&page));
    }
    assert_eq!(open(&app, "/ui/collections/none", &cookie).await.status, 404);
}

async fn unstable(app: &TestApp, account: &str) -> String {
    let key = app.key(account, "verify,read").await;
    let job = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    app.work(|index| EpisodeResult { termination: Termination::Unstable, ..assay_store_testing::episode(index) }).await;
    app.clock.forward(1);
    job
}

#[tokio::test]
async fn a_reviewer_finds_what_awaits_a_decision_and_decides() {
    let app = TestApp::new();
    let first = unstable(&app, "lab").await;
    let second = unstable(&app, "other").await;
    app.completed(&app.key("lab", "verify,read").await, 1).await;
    let key = app.key("safety", "read,review").await;
    let answer = app.get("/reviews", &key).await.body;
    let ids = |body: &serde_json::Value| -> Vec<_> {
        body["jobs"].as_array().unwrap().iter().map(|job| job["job_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((ids(&answer), &answer["next"]), (vec![second.clone(), first.clone()], &json!(null)), "newest first");
    let page = app.get("/reviews?limit=1", &key).await.body;
    assert_eq!((ids(&page), &page["next"]), (vec![second.clone()], &json!(second)));
    assert_eq!(ids(&app.get(&format!("/reviews?before={second}"), &key).await.body), vec![first.clone()]);
    assert_eq!(app.get("/reviews?before=x", &key).await.status, 400);
    let owner = app.key("lab", "verify,read").await;
    assert_eq!(app.get("/reviews", &owner).await.status, 403);

    let Browser { cookie, token, .. } = sign_in(&app, &key).await;
    let list = open(&app, "/ui/reviews", &cookie).await;
    assert!(html(&list).contains(&first) && html(&list).contains(&second));
    let path = format!("/ui/verifications/{first}");
    let review = format!("{path}/review");
    assert!(html(&open(&app, &path, &cookie).await).contains(&format!("action=\"{review}\"")));
    let long = "x".repeat(4096);
    for (fields, status) in [
        (vec![("decision", "accepted"), ("reason", "")], 400),
        (vec![("decision", "perhaps"), ("reason", "x")], 400),
        (vec![("reason", "x")], 400),
        (vec![("decision", "needs_evidence"), ("reason", &*long)], 303),
        (vec![("decision", "rejected"), ("reason", "A%20near%20miss%20%3Cimg%20src%3Dx%3E")], 303),
    ] {
        let fields = [vec![("csrf", &*token)], fields].concat();
        assert_eq!(send(&app, &review, &cookie, &fields).await.status, status, "{fields:?}");
    }
    assert_eq!(
        send(&app, &review, &cookie, &[("csrf", ""), ("decision", "accepted"), ("reason", "x")]).await.status,
        403
    );
    let shown = open(&app, &path, &cookie).await;
    assert!(html(&shown).contains("A near miss") && !html(&shown).contains("<img src=x"), "{}", html(&shown));
    assert!(!html(&open(&app, "/ui/reviews", &cookie).await).contains(&first), "it is decided");
    assert_eq!(ids(&app.get("/reviews", &key).await.body), [second]);

    let owner = sign_in(&app, &owner).await;
    let fields = [("csrf", &*owner.token), ("decision", "accepted"), ("reason", "x")];
    assert_eq!(send(&app, &review, &owner.cookie, &fields).await.status, 403, "its owner is no reviewer");
    let own = open(&app, &path, &owner.cookie).await;
    assert!(html(&own).contains("A near miss") && !html(&own).contains(&review), "but sees the decision");
    let job =
        app.send(request("GET", &format!("/verify/{first}"), &key).body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(job.body["review"]["decision"], "rejected");
}
