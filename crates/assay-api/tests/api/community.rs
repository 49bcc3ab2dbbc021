//! Scenarios published by accounts: permissions, lists and versions.

use assay_api::{AccountLimits, ApiSettings, Uploads};
use serde_json::json;

use crate::app::{Answer, POLICY, Part, TestApp, form, request};

const PATH: &str = "/community/scenarios";

async fn publish(app: &TestApp, key: &str, text: &str) -> Answer {
    app.send(form(request("POST", PATH, key), &[Part::File("scenario", "s.zip", text.as_bytes())])).await
}

fn ids(answer: &Answer) -> Vec<&str> {
    answer.body["scenarios"].as_array().unwrap().iter().map(|scenario| scenario["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_scenario_is_published_found_used_and_deleted() {
    let app = TestApp::new();
    let (key, reader) = (app.key("lab", "publish,read,verify").await, app.key("other", "read,publish").await);
    let parts = [Part::File("scenario", "s.zip", b"reach 1.0.0"), Part::Text("tags", "arm, new")];
    let made = app.send(form(request("POST", PATH, &key), &parts)).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(made.headers["location"], "/community/scenarios/lab.reach");
    let own = app.state.catalog.get(&"cartpole_keepin".parse().unwrap()).unwrap();
    assert_ne!(made.body["digest"], json!(own.digest));
    for (field, value) in [
        ("id", json!("lab.reach")),
        ("author", json!("lab")),
        ("version", json!("1.0.0")),
        ("evaluations", json!(0)),
        ("time_limit", json!(10)),
        (
            "versions",
            json!([{ "version": "1.0.0", "digest": made.body["digest"], "published_at": made.body["published_at"] }]),
        ),
    ] {
        assert_eq!(made.body[field], value, "{field}");
    }
    let tags = made.body["tags"].as_array().unwrap();
    assert!(tags.contains(&json!("arm")) && tags.contains(&json!("new")), "{tags:?}");

    let picture = app.get(made.body["thumbnail_url"].as_str().unwrap(), "").await;
    assert_eq!((picture.status.as_u16(), &picture.headers["content-type"]), (200, &"image/png".parse().unwrap()));
    assert_eq!(picture.headers["x-content-type-options"], "nosniff");
    let listed = app.get(PATH, &reader).await;
    assert_eq!((ids(&listed), &listed.body["total"]), (vec!["lab.reach"], &json!(1)));
    assert_eq!(listed.body["scenarios"][0].get("long_description"), None);
    assert_eq!(app.get("/scenarios", &reader).await.body["scenarios"].as_array().unwrap().len(), 2, "curated only");
    assert_eq!(app.get("/scenarios/lab.reach", &reader).await.body["name"], made.body["name"]);
    assert_eq!(app.get("/scenarios/lab.reach/spec", &reader).await.body["id"], "lab.reach");

    let job = app.verify(&key, &[POLICY, Part::Text("scenario", "lab.reach")]).await;
    assert_eq!((job.status.as_u16(), &job.body["scenario_digest"]), (201, &made.body["digest"]));
    assert_eq!(publish(&app, &key, "reach 2.0.0").await.status, 201);
    let pinned = app.get(&format!("/verify/{}", job.body["job_id"].as_str().unwrap()), &key).await;
    assert_eq!(
        (&pinned.body["scenario_version"], &pinned.body["scenario_digest"]),
        (&json!("1.0.0"), &made.body["digest"])
    );
    let now = app.get("/community/scenarios/lab.reach", &reader).await;
    assert_eq!((&now.body["version"], &now.body["evaluations"]), (&json!("2.0.0"), &json!(1)));
    assert_eq!(now.body["versions"].as_array().unwrap().len(), 2);

    let path = "/community/scenarios/lab.reach";
    let delete =
        async |key: &str| app.send(request("DELETE", path, key).body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(delete(&reader).await.status, 404, "another account's");
    assert_eq!(
        (delete(&key).await.status, delete(&key).await.status),
        (204.try_into().unwrap(), 204.try_into().unwrap())
    );
    assert_eq!(
        (app.get(path, &reader).await.code(), app.get(PATH, &reader).await.body["total"].clone()),
        ("GONE", json!(0))
    );
    for gone in ["/scenarios/lab.reach", "/scenarios/lab.reach/spec", "/scenarios/lab.reach?version=1.0.0"] {
        assert_eq!(app.get(gone, &reader).await.code(), "GONE", "{gone}");
    }
    let gone = app.verify(&key, &[POLICY, Part::Text("scenario", "lab.reach")]).await;
    assert_eq!((gone.status.as_u16(), &gone.body["error"]["details"]["field"]), (400, &json!("scenario")));
    let again = publish(&app, &key, "reach 3.0.0").await;
    assert_eq!(
        (again.status.as_u16(), again.message()),
        (409, "lab.reach was deleted, and its id can't be reused; choose another id")
    );
    assert_eq!(app.get(&format!("/verify/{}", job.body["job_id"].as_str().unwrap()), &key).await.status, 200);
}

#[tokio::test]
async fn rejections_name_the_problem_and_leave_nothing() {
    let app = TestApp::with(ApiSettings {
        uploads: Uploads { max_scenario_bytes: 100, ..Uploads::default() },
        ..ApiSettings::default()
    });
    let key = app.key("lab", "publish,read").await;
    let fault = publish(&app, &key, "broken 1").await;
    assert_eq!((fault.status.as_u16(), fault.message()), (400, "scenario.toml: difficulty: must be 1 to 5"));
    let details = json!({ "field": "scenario", "value": null, "file": "scenario.toml", "key": "difficulty" });
    assert_eq!(fault.body["error"]["details"], details);
    let none = publish(&app, &key, "nothing").await;
    assert_eq!((none.status.as_u16(), none.message()), (400, "no archive"));
    assert_eq!(publish(&app, &key, &"x".repeat(101)).await.code(), "PAYLOAD_TOO_LARGE");
    for (parts, field) in [
        (&[Part::Text("tags", "a")][..], "scenario"),
        (&[Part::File("scenario", "s.zip", b"a 1"), Part::Text("tags", "Not A Tag")], "tags"),
        (&[Part::File("policy", "s.zip", b"a 1")], "policy"),
    ] {
        let answer = app.send(form(request("POST", PATH, &key), parts)).await;
        assert_eq!((answer.status.as_u16(), &answer.body["error"]["details"]["field"]), (400, &json!(field)));
    }
    let long = app.key(&"l".repeat(98), "publish").await;
    let odd = publish(&app, &long, "reach 1").await;
    assert!(odd.message().contains("99 characters together; shorten the id"), "{}", odd.body);
    assert_eq!(app.get(PATH, &key).await.body["total"], json!(0));
    assert_eq!(app.leftovers(), 0);
    assert_eq!(std::fs::read_dir(app.folder.path().join("scenarios")).unwrap().count(), 0);
}

#[tokio::test]
async fn versions_remain_and_are_counted() {
    let app = TestApp::with(ApiSettings {
        account: AccountLimits { publications_per_day: 2, ..AccountLimits::default() },
        ..ApiSettings::default()
    });
    let key = app.key("lab", "publish,read").await;
    assert_eq!(publish(&app, &key, "reach 1").await.status, 201);
    let same = publish(&app, &key, "reach 1").await;
    assert_eq!((same.status.as_u16(), same.code()), (409, "CONFLICT"));
    assert!(same.message().contains("publish changes as a new version"), "{}", same.body);
    assert_eq!(publish(&app, &key, "stack 1").await.status, 201);
    let third = publish(&app, &key, "third 1").await;
    assert_eq!((third.status.as_u16(), &third.headers["retry-after"]), (429, &"86400".parse().unwrap()));
    let details = json!({ "limit": "publications_per_day", "maximum": 2, "current": 2,
                          "frees_at": "2025-06-16T15:06:40Z", "frees_when": null });
    assert_eq!(third.body["error"]["details"], details);
    app.clock.forward(3000);
    let other = app.key("other", "publish,read").await;
    assert_eq!(publish(&app, &other, "reach 1").await.status, 201, "another account has a count of its own");
    for (query, wanted) in [
        ("", &["other.reach", "lab.reach", "lab.stack"][..]),
        ("?q=REACH", &["other.reach", "lab.reach"]),
        ("?author=lab", &["lab.reach", "lab.stack"]),
        ("?author=nobody", &[]),
        ("?tag=nothing", &[]),
        ("?sort=name&limit=1&offset=1", &["lab.stack"]),
        ("?before=other.reach&limit=1", &["lab.reach"]),
    ] {
        assert_eq!(ids(&app.get(&format!("{PATH}{query}"), &key).await), wanted, "{query}");
    }
    for (query, field) in [
        ("?sort=best", "sort"),
        ("?limit=0", "limit"),
        ("?q=", "q"),
        ("?q=a+b+c+d+e+f+g+h+i", "q"),
        ("?before=lab.nothing", "before"),
        ("?before=lab.reach&sort=name", "before"),
    ] {
        let answer = app.get(&format!("{PATH}{query}"), &key).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["error"]["details"]["field"]),
            (400, &json!(field)),
            "{query}"
        );
    }
}

#[tokio::test]
async fn failed_publications_are_limited_per_day() {
    let app = TestApp::with(ApiSettings {
        account: AccountLimits { failed_publications_per_day: 3, ..AccountLimits::default() },
        ..ApiSettings::default()
    });
    let key = app.key("lab", "publish,read").await;
    let once = async || {
        let head = request("POST", PATH, &key).header("idempotency-key", "one");
        app.send(form(head, &[Part::File("scenario", "s.zip", b"reach 1")])).await
    };
    assert_eq!(publish(&app, &key, "broken 1").await.status, 400);
    let made = once().await;
    assert_eq!(made.status, 201, "what is published is counted elsewhere");
    assert_eq!(publish(&app, &key, "busy 1").await.status, 503, "a check that took all its time counts");
    assert_eq!(publish(&app, &key, "nothing").await.status, 400);
    let third = publish(&app, &key, "stack 1").await;
    assert_eq!((third.status.as_u16(), third.code()), (429, "RATE_LIMITED"), "{}", third.body);
    assert_eq!(third.headers["retry-after"], "86400");
    let details = &third.body["error"]["details"];
    assert_eq!((&details["limit"], &details["maximum"]), (&json!("failed_publications_per_day"), &json!(3)));
    let again = once().await;
    assert_eq!((again.status, &again.body), (made.status, &made.body), "sent again, not tried again");
    let other = app.key("other", "publish").await;
    assert_eq!(publish(&app, &other, "broken 1").await.status, 400, "another account has a count of its own");
    app.clock.forward(24 * 3600);
    let key = app.key("lab", "publish,read").await;
    assert_eq!(publish(&app, &key, "stack 1").await.status, 201);
}

#[tokio::test]
async fn the_highest_version_is_shown_and_every_version_can_be_requested() {
    let app = TestApp::new();
    let key = app.key("lab", "publish,read,verify").await;
    for version in ["1.10.0", "1.2.0"] {
        assert_eq!(publish(&app, &key, &format!("reach {version}")).await.status, 201);
        app.clock.forward(1);
    }
    for place in ["/scenarios/lab.reach", "/community/scenarios/lab.reach"] {
        let version = async |query: &str| app.get(&format!("{place}{query}"), &key).await.body["version"].clone();
        assert_eq!(version("").await, "1.10.0", "{place}: it was published before 1.2.0");
        assert_eq!(version("?version=1.10.0").await, "1.10.0", "{place}");
        assert_eq!(version("?version=1.2.0").await, "1.2.0", "{place}");
        let unknown = app.get(&format!("{place}?version=3.0.0"), &key).await;
        assert_eq!((unknown.status.as_u16(), unknown.code()), (404, "NOT_FOUND"), "{place}");
        assert_eq!(unknown.message(), "lab.reach has no version 3.0.0; it has 1.2.0, 1.10.0", "{place}");
        for wrong in ["?version=", "?version=1.2.0&version=1.2.0"] {
            let answer = app.get(&format!("{place}{wrong}"), &key).await;
            assert_eq!(answer.body["error"]["details"]["field"], "version", "{place}{wrong}");
        }
    }
    let earlier = app.get(&format!("{PATH}/lab.reach?version=1.2.0"), &key).await.body;
    let listed = earlier["versions"].as_array().unwrap();
    let own = listed.iter().find(|version| version["version"] == "1.2.0").unwrap();
    assert_eq!((&own["digest"], &own["published_at"]), (&earlier["digest"], &earlier["published_at"]));
    assert_eq!(app.get("/scenarios/lab.reach/spec?version=1.2.0", &key).await.status, 200);
    assert_eq!(app.get("/scenarios/lab.reach/spec?version=9", &key).await.status, 404);
    let job = app.verify(&key, &[POLICY, Part::Text("scenario", "lab.reach")]).await;
    assert_eq!(job.body["scenario_version"], "1.10.0");
}

#[tokio::test]
async fn an_error_for_an_unknown_scenario_suggests_a_similar_one() {
    let app = TestApp::new();
    let key = app.key("lab", "publish,read,verify").await;
    assert_eq!(publish(&app, &key, "reach 1.0.0").await.status, 201);
    for (unknown, meant) in [("cartpole", "cartpole_keepin"), ("lab.reahc", "lab.reach")] {
        let hint = format!("did you mean {meant}?");
        let posted = app.verify(&key, &[POLICY, Part::Text("scenario", unknown)]).await;
        assert_eq!((posted.status.as_u16(), &posted.body["error"]["details"]["field"]), (400, &json!("scenario")));
        assert!(posted.message().contains(&hint), "{}", posted.message());
        for path in [format!("/scenarios/{unknown}"), format!("/scenarios/{unknown}/spec"), format!("{PATH}/{unknown}")]
        {
            let answer = app.get(&path, &key).await;
            assert_eq!(answer.status, 404, "{path}");
            assert!(answer.message().contains(&hint), "{path}: {}", answer.message());
        }
    }
    let nothing = app.get("/scenarios/zzz", &key).await;
    assert_eq!((nothing.status.as_u16(), nothing.message()), (404, "there is no such scenario"));
    let installed = app.get("/scenarios/cartpole_keepin?version=9.9.9", &key).await;
    assert_eq!((installed.status.as_u16(), installed.message().contains("it has 1.0.0")), (404, true));
}

#[tokio::test]
async fn a_scenario_that_draws_nothing_is_published_with_a_warning_and_certifies_nothing() {
    let app = TestApp::new();
    let key = app.key("lab", "publish,read,verify").await;
    let made = publish(&app, &key, "still 1.0.0").await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert!(made.body["warnings"][0].as_str().unwrap().contains("draws nothing"), "{}", made.body);
    assert_eq!((&made.body["draws_worlds"], &made.body["drawn_ranges"]), (&json!(false), &json!([])));
    let other = publish(&app, &key, "reach 1.0.0").await;
    assert_eq!((&other.body["draws_worlds"], &other.body["warnings"]), (&json!(true), &json!([])));
    let drawn = &other.body["drawn_ranges"][0];
    assert_eq!(drawn, &json!({ "name": "side", "distribution": "choice", "low": -1.0, "high": 1.0, "sd": null }));

    let still = Part::Text("scenario", "lab.still");
    let target = Part::Text("max_violation_probability", "0.1");
    let refused = app.verify(&key, &[POLICY, still, target]).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (400, "VALIDATION_ERROR"), "{}", refused.body);
    assert!(refused.message().contains("the scenario draws nothing"), "{}", refused.message());
    assert_eq!(refused.body["error"]["details"]["field"], "max_violation_probability", "{}", refused.body);
    assert_eq!(app.get("/verify", &key).await.body["total"], 0, "it was refused before it started");

    let job = app.verify(&key, &[POLICY, still, Part::Text("num_episodes", "3")]).await;
    assert_eq!((job.status.as_u16(), &job.body["drawn_ranges"]), (201, &json!([])), "{}", job.body);
    app.work(assay_store_testing::episode).await;
    let path = format!("/verify/{}", job.body["job_id"].as_str().unwrap());
    let statistics = &app.get(&path, &key).await.body["statistics"];
    assert_eq!((&statistics["episodes"], &statistics["sample_size"]), (&json!(3), &json!(1)), "{statistics}");
    assert_eq!(statistics["violation_probability_upper"], 0.95);
}
