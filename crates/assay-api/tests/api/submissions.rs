//! Submissions to the arena.

use assay_api::ApiSettings;
use assay_model::{
    Artifact, EpisodeError, EpisodeResult, EpisodeStatus, PolicyErrorCode, ScenarioCard, Scopes, SeasonSecret,
    Sha256Digest,
};
use assay_store::NewSeason;
use assay_store_testing::episode;
use axum::body::Body;
use serde_json::{Value, json};

use crate::app::{KEPT, POLICY, Part, SERVER, TestApp, request};

const ARENA: Part<'_> = Part::Text("scenario_id", "cartpole_keepin");
/// A finding of an episode that must not be readable before the season is closed.
const FOUND: &str = "0.123456789";

async fn key(app: &TestApp) -> String {
    app.key("lab", &Scopes::all().to_string()).await
}

/// A result that says much.
fn telling(index: u32) -> EpisodeResult {
    let mut result = episode(index);
    result.video_path = Some(format!("episodes/{index:03}/video.mp4"));
    result.evidence = vec![Artifact {
        name: format!("episodes/{index:03}/video.mp4"),
        sha256: format!("{index:064x}").parse().unwrap(),
        size_bytes: 5,
    }];
    if index == 3 {
        result.error = Some(EpisodeError {
            code: PolicyErrorCode::Exception,
            message: "ValueError: in a public world".into(),
            log_tail: "  File \"policy.py\", line 9, in act\n".into(),
        });
    }
    if index == 1 {
        result.status = EpisodeStatus::PolicyError;
        result.error = Some(EpisodeError {
            code: PolicyErrorCode::Exception,
            message: format!("ValueError: saw {FOUND}"),
            log_tail: format!("  File \"policy.py\", line 7, in act\nValueError: saw {FOUND}\n"),
        });
    }
    result
}

#[tokio::test]
async fn a_submission_is_accepted_run_and_published() {
    let app = TestApp::new();
    let key = key(&app).await;
    let named = [POLICY, ARENA, Part::Text("name", "swift"), Part::Text("description", "An LQR.")];
    let made = app.submit(&key, &named).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let id = made.body["submission_id"].as_str().unwrap().to_owned();
    assert_eq!(made.headers["location"], format!("/submissions/{id}"));
    let created = "2025-06-15T15:06:40Z";
    assert_eq!(
        made.body,
        json!({ "submission_id": id, "status": "QUEUED", "scenario_id": "cartpole_keepin", "created_at": created,
                "season": 1 })
    );
    let queued = app.get(&format!("/submissions/{id}"), &key).await.body;
    assert_eq!(
        queued,
        json!({
            "id": id, "scenario_id": "cartpole_keepin", "status": "QUEUED", "verdict": null, "score": null,
            "created_at": created, "completed_at": null, "erased_at": null, "name": "swift", "season": 1, "video_url": null,
            "confidence": null, "error_message": null, "description": "An LQR.", "scenario_version": "1.0.0",
            "progress": { "episodes_done": null, "episodes_total": 4, "stage": "queued" }, "queue_position": 1,
            "eta_s": null, "eta_reason": "no episode of its scenario has been measured on this server yet",
            "waiting_for": "a free lane", "warnings": [], "statistics": null, "blame": null, "reason": null,
            "showcase": null,
        })
    );
    app.work(episode).await;
    assert_eq!(app.get(&format!("/submissions/{id}"), &key).await.body, queued, "nothing is published yet");
    app.publish();
    let done = app.get(&format!("/submissions/{id}"), &key).await.body;
    // composite 2/3, consistency 1, success rate 1: .8 x 2/3 + .2 to 3 digits; the test's scenario has 1000.
    assert_eq!(
        (&done["status"], &done["verdict"], &done["score"]),
        (&json!("COMPLETED"), &json!("SAFE"), &json!(733.0))
    );
    assert_eq!(done["completed_at"], json!("2025-06-15T15:06:55Z"), "a point of the grid");
    assert_eq!((&done["statistics"]["episodes"], &done["confidence"]), (&json!(3), &json!(0.271)), "{done}");
    let list = app.get("/submissions?scenario=cartpole_keepin", &key).await.body;
    assert_eq!((&list["total"], &list["limit"], &list["offset"]), (&json!(1), &json!(20), &json!(0)));
    for field in ["id", "scenario_id", "status", "verdict", "score", "created_at"] {
        assert_eq!(list["submissions"][0][field], done[field], "{field}");
    }
    for empty in ["/submissions?scenario=elsewhere", "/submissions?scenario=No!", &format!("/submissions?before={id}")]
    {
        assert_eq!(app.get(empty, &key).await.body["submissions"], json!([]), "{empty}");
    }
}

#[tokio::test]
async fn an_open_season_shows_aggregates_only() {
    let app = TestApp::new();
    let key = key(&app).await;
    let id = app.submit(&key, &[POLICY, ARENA]).await.body["submission_id"].as_str().unwrap().to_owned();
    app.work(telling).await;
    app.publish();
    let open = app.get(&format!("/submissions/{id}"), &key).await.body;
    assert_eq!(open["verdict"], json!("INCONCLUSIVE"));
    assert_eq!((&open["error_message"], &open["blame"]), (&json!("policy_error"), &json!("policy")));
    assert_eq!(open["reason"], json!("some episodes yield no evidence"));
    let (violations, without) = (&open["statistics"]["violations"], &open["statistics"]["without_evidence"]);
    assert_eq!((violations, without), (&Value::Null, &Value::Null), "only their sum is published, as the confidence");
    let showcase = &open["showcase"];
    assert_eq!((&showcase["episode"], &showcase["video_url"]), (&json!(3), &open["video_url"]));
    let message = showcase["error"]["message"].as_str().unwrap();
    assert!(message.contains("public"), "the showcase shows all its details: {showcase}");
    let text = open.to_string();
    assert!(!text.contains(FOUND) && !text.contains(&format!("{:064x}", 0)), "{text}");
    let video = open["video_url"].as_str().unwrap();
    assert!(video.contains(&format!("{:064x}", 3)), "the showcase is the episode behind those that count: {video}");

    let scenario = "cartpole_keepin".parse().unwrap();
    let records = &app.state.records;
    let now = app.state.clock.now();
    records.begin_closing_season(&scenario, 0, SeasonSecret::new([1; 32]), now).await.unwrap();
    records.begin_reruns(&scenario, 1, vec![], now).await.unwrap();
    assert!(records.finish_closing_season(&scenario, 1, now).await.unwrap());
    let closed = app.get(&format!("/submissions/{id}"), &key).await.body;
    assert!(closed["error_message"].as_str().unwrap().contains(FOUND), "{closed}");
    assert_eq!(
        (&closed["statistics"]["without_evidence"], &closed["completed_at"]),
        (&json!(1), &open["completed_at"])
    );
    let late = app.submit(&key, &[POLICY, ARENA]).await;
    assert_eq!((late.status.as_u16(), late.code()), (409, "CONFLICT"), "{}", late.body);
}

#[tokio::test]
async fn submissions_and_verifications_do_not_mix() {
    let app = TestApp::new();
    let key = key(&app).await;
    let submission = app.submit(&key, &[POLICY, ARENA]).await.body["submission_id"].as_str().unwrap().to_owned();
    app.work(episode).await;
    let job = app.completed(&key, 1).await;
    for path in ["", "/episodes", "/events", "/report", "/report.json", "/attestation"] {
        assert_eq!(app.get(&format!("/verify/{submission}{path}"), &key).await.status, 404, "{path}");
    }
    let review = json!({ "decision": "accepted", "reason": "why not" });
    assert_eq!(app.post_json(&format!("/verify/{submission}/review"), &key, &review).await.status, 404);
    assert_eq!(app.post(&format!("/verify/{submission}/cancel"), &key).await.status, 404);
    assert_eq!(app.post(&format!("/verify/{submission}/replay"), &key).await.status, 404);
    assert_eq!(app.get(&format!("/submissions/{job}"), &key).await.status, 404);
    assert_eq!(app.post(&format!("/submissions/{job}/cancel"), &key).await.status, 404);
    let ids = |page: &Value, field: &str| page[field].as_array().unwrap().len();
    assert_eq!(ids(&app.get("/verify", &key).await.body, "jobs"), 1);
    assert_eq!(ids(&app.get("/submissions", &key).await.body, "submissions"), 1);
    let stranger = app.key("other", "read,submit").await;
    assert_eq!(app.get(&format!("/submissions/{submission}"), &stranger).await.status, 404);
    assert_eq!(app.post(&format!("/submissions/{submission}/cancel"), &stranger).await.status, 404);
    assert_eq!(app.get("/submissions", &stranger).await.body["total"], json!(0));
}

#[tokio::test]
async fn invalid_submissions_are_rejected() {
    let app = TestApp::new();
    let key = key(&app).await;
    let long = "x".repeat(2001);
    for (parts, field, says) in [
        (&[ARENA][..], "policy", "policy is missing"),
        (&[ARENA, SERVER], "policy_url", "would see every secret episode"),
        (&[POLICY], "scenario_id", "scenario_id is missing"),
        (&[POLICY, Part::Text("scenario_id", "nowhere")], "scenario_id", "no such scenario"),
        (&[POLICY, ARENA, Part::Text("seed", "7")], "seed", "there is no part"),
        (&[POLICY, ARENA, Part::Text("num_episodes", "7")], "num_episodes", "there is no part"),
        (&[POLICY, ARENA, Part::Text("name", " ")], "name", "1 to 100 characters"),
        (&[POLICY, ARENA, Part::Text("description", &long)], "description", "at most 2000 characters"),
    ] {
        let answer = app.submit(&key, parts).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (400, "VALIDATION_ERROR"), "{}", answer.body);
        assert_eq!(answer.body["error"]["details"]["field"], json!(field), "{}", answer.body);
        assert!(answer.message().contains(says), "{}", answer.body);
    }
    assert_eq!(app.leftovers(), 0);
    let (_, total) = app.state.records.jobs(&assay_store::JobFilter::default()).await.unwrap();
    assert_eq!(total, 0);
}

#[tokio::test]
async fn five_submissions_a_day_not_counting_internal_errors() {
    let app = {
        let mut settings = ApiSettings::default();
        settings.account.submissions_per_day = 2;
        TestApp::with(settings)
    };
    let key = key(&app).await;
    let first = app.submit(&key, &[POLICY, ARENA]).await.body["submission_id"].as_str().unwrap().to_owned();
    assert_eq!(app.submit(&key, &[POLICY, ARENA]).await.status, 201);
    let refused = app.submit(&key, &[POLICY, ARENA]).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (429, "RATE_LIMITED"));
    // 15:06:40 to midnight.
    assert_eq!(refused.headers["retry-after"], "32000");
    assert!(refused.message().contains("2025-06-16T00:00:00Z"), "{}", refused.message());
    let details = json!({ "limit": "submissions_per_day", "maximum": 2, "current": 2, "frees_at": "2025-06-16T00:00:00Z",
                "frees_when": null });
    assert_eq!(refused.body["error"]["details"], details);
    assert_eq!(app.submit(&key, &[POLICY, Part::Text("scenario_id", "tabletop_reach")]).await.status, 201);
    let failure = assay_store::JobFailure { blame: assay_model::Blame::Platform, message: "the disk is full".into() };
    assert!(app.state.records.fail_job(first.parse().unwrap(), failure, app.state.clock.now()).await.unwrap());
    assert_eq!(app.submit(&key, &[POLICY, ARENA]).await.status, 429, "that it failed is not published yet");
    app.publish();
    let failed = app.get(&format!("/submissions/{first}"), &key).await.body;
    assert_eq!((&failed["status"], &failed["blame"]), (&json!("FAILED"), &json!("platform")), "{failed}");
    assert!(!failed.to_string().contains("the disk is full"), "{failed}");
    assert_eq!(app.submit(&key, &[POLICY, ARENA]).await.status, 201);
    assert_eq!(app.submit(&key, &[POLICY, ARENA]).await.status, 429);
    app.clock.forward(32_000);
    let key = app.key("lab", "submit").await;
    assert_eq!(app.submit(&key, &[POLICY, ARENA]).await.status, 201, "another day");
}

#[tokio::test]
async fn a_submission_is_cancelled_once() {
    let app = TestApp::new();
    let key = key(&app).await;
    let id = app.submit(&key, &[POLICY, ARENA]).await.body["submission_id"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let answer = app.post(&format!("/submissions/{id}/cancel"), &key).await;
        assert_eq!((answer.status.as_u16(), &answer.body["status"]), (200, &json!("CANCELLED")));
    }
    let path = format!("/submissions/{id}");
    let erased = app.send(request("DELETE", &path, &key).body(Body::empty()).unwrap()).await;
    assert_eq!(erased.status, 204, "its season is open, but it is never run again: {}", erased.body);
    assert_eq!(app.get(&path, &key).await.code(), "GONE");
    let listed = &app.get("/submissions", &key).await.body["submissions"][0];
    assert_eq!((&listed["id"], &listed["status"]), (&json!(id), &json!("CANCELLED")), "the record stays");
    assert!(listed["erased_at"].is_string(), "{listed}");
    assert_eq!(std::fs::read_dir(app.folder.path().join("policies")).unwrap().count(), 0);
    let done = app.submitted(&key).await;
    assert_eq!(app.post(&format!("/submissions/{done}/cancel"), &key).await.status, 409);
}

#[tokio::test]
async fn a_season_is_for_one_scenario_and_one_engine() {
    let mut app = TestApp::new();
    let key = key(&app).await;
    assert_eq!(app.submit(&key, &[POLICY, ARENA]).await.status, 201);
    app.state.fingerprint.numpy = "3.0.0".into();
    app.router = assay_api::router(app.state.clone());
    let answer = app.submit(&key, &[POLICY, ARENA]).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (409, "CONFLICT"));
    assert!(answer.message().starts_with("numpy has changed since season 1"), "{}", answer.message());
}

/// A season goes on in the version that it was opened with, while that can be run.
#[tokio::test]
async fn a_season_keeps_its_version_of_the_scenario() {
    let app = TestApp::new();
    let key = key(&app).await;
    for (digest, scenario) in [(KEPT, "cartpole_keepin"), (Sha256Digest::of("gone"), "tabletop_reach")] {
        let card = app.state.catalog.get(&scenario.parse().unwrap()).unwrap();
        let older = ScenarioCard { version: "0.9.0".to_owned(), digest, ..(*card).clone() };
        let pins = assay_store::SeasonPins::of(&older, app.state.fingerprint.clone());
        let secret = SeasonSecret::new([7; 32]);
        let season = NewSeason { scenario: older.id.clone(), pins, secret, opened_at: app.state.clock.now() };
        app.state.records.open_season(season).await.unwrap();
    }
    let accepted = app.submit(&key, &[POLICY, Part::Text("scenario_id", "cartpole_keepin")]).await;
    assert_eq!(accepted.status, 201, "{}", accepted.body);
    let id = accepted.body["submission_id"].as_str().unwrap();
    let submission = app.get(&format!("/submissions/{id}"), &key).await;
    assert_eq!(submission.body["scenario_version"], "0.9.0", "{}", submission.body);
    let refused = app.submit(&key, &[POLICY, Part::Text("scenario_id", "tabletop_reach")]).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "CONFLICT"));
    let message = "the scenario (tabletop_reach is gone) has changed since season 1 of tabletop_reach";
    assert!(refused.message().starts_with(message), "{}", refused.message());
}
