//! The leaderboards.

use assay_model::{EpisodeResult, EpisodeStatus, Scopes};
use assay_store_testing::episode;
use serde_json::{Value, json};

use crate::app::{Answer, TestApp};

async fn key(app: &TestApp, account: &str) -> String {
    app.key(account, &Scopes::all().to_string()).await
}

/// A result with this composite.
fn scoring(index: u32, composite: f64) -> EpisodeResult {
    EpisodeResult { composite_score: composite, ..episode(index) }
}

/// Submits for `account` and lets every episode score `composite`.
async fn scored(app: &TestApp, account: &str, composite: f64) -> String {
    app.clock.forward(1);
    let id = app.submission(&key(app, account).await).await;
    app.work(|index| scoring(index, composite)).await;
    app.publish();
    id
}

async fn board(app: &TestApp, query: &str) -> Value {
    let Answer { status, body, .. } = app.get(&format!("/leaderboard{query}"), &key(app, "reader").await).await;
    assert_eq!(status, 200, "{body}");
    body
}

fn accounts(board: &Value) -> Vec<(Value, &str)> {
    let entries = board["entries"].as_array().unwrap();
    entries.iter().map(|entry| (entry["rank"].clone(), entry["account"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn a_board_ranks_the_submissions_of_a_scenario() {
    let app = TestApp::new();
    assert_eq!(
        board(&app, "?scenario=cartpole_keepin").await,
        json!({ "scenario": "cartpole_keepin", "collection": null, "season": null, "interval_method": "betting",
                "entries": [], "total": 0, "limit": 20, "offset": 0, "updated_at": null })
    );
    for (account, composite) in [("slow", 0.2), ("swift", 0.9), ("even", 0.2)] {
        scored(&app, account, composite).await;
    }
    let found = board(&app, "?scenario=cartpole_keepin").await;
    assert_eq!(accounts(&found), [(json!(1), "swift"), (json!(2), "slow"), (json!(2), "even")]);
    assert_eq!((&found["season"], &found["total"]), (&json!(1), &json!(3)));
    let first = &found["entries"][0];
    assert_eq!(
        *first,
        json!({
            "rank": 1, "rank_low": 1, "rank_high": 3, "submission_id": first["submission_id"], "policy_name": "grasp.zip",
            "account": "swift", "verdict": "SAFE", "worlds": "season", "score": 920.0, "season_score": 920.0,
            "score_low": 200.0, "score_high": 1000.0, "success_rate": 1.0, "safety_score": null, "episodes": 3, "created_at": "2025-06-15T15:06:57Z",
        })
    );
    let page = board(&app, "?scenario=cartpole_keepin&limit=1&offset=1").await;
    assert_eq!((accounts(&page), &page["total"]), (vec![(json!(2), "slow")], &json!(3)));
}

#[tokio::test]
async fn the_latest_or_the_chosen_submission_counts() {
    let app = TestApp::new();
    let lab = key(&app, "lab").await;
    let good = scored(&app, "lab", 0.9).await;
    let bad = scored(&app, "lab", 0.1).await;
    let counts = async || board(&app, "?scenario=cartpole_keepin").await["entries"][0]["submission_id"].clone();
    assert_eq!(counts().await, json!(bad), "not the best");
    let stranger = app.key("other", "read,submit").await;
    assert_eq!(app.post(&format!("/submissions/{good}/choose"), &stranger).await.status, 404);
    assert_eq!(app.post(&format!("/submissions/{good}/choose"), &lab).await.status, 200);
    assert_eq!(counts().await, json!(good));
    app.clock.forward(1);
    let waiting = app.submission(&lab).await;
    assert_eq!(app.post(&format!("/submissions/{waiting}/choose"), &lab).await.status, 409);
    app.close_season().await;
    assert_eq!(app.post(&format!("/submissions/{bad}/choose"), &lab).await.status, 409);
}

#[tokio::test]
async fn a_combined_board_ranks_mean_shares() {
    let app = TestApp::new();
    scored(&app, "lab", 0.9).await;
    scored(&app, "other", 0.4).await;
    for query in ["", "?collection=small"] {
        let found = board(&app, query).await;
        assert_eq!(accounts(&found), [(json!(1), "lab"), (json!(2), "other")], "{query}");
        let first = &found["entries"][0];
        assert_eq!(
            (&first["score"], &first["submission_id"], &first["policy_name"]),
            (&json!(0.46), &Value::Null, &Value::Null)
        );
        assert_eq!((&found["season"], &found["scenario"]), (&Value::Null, &Value::Null));
        let collection = query.split('=').nth(1).unwrap_or("overall");
        assert_eq!((&found["collection"], &found["interval_method"]), (&json!(collection), &json!("betting")));
    }
    for nothing in
        ["?scenario=elsewhere", "?scenario=No!", "?collection=elsewhere", "?scenario=cartpole_keepin&season=9"]
    {
        assert_eq!(board(&app, nothing).await["entries"], json!([]), "{nothing}");
    }
    let key = key(&app, "lab").await;
    for (query, field) in [
        ("scenario=a&collection=b", "collection"),
        ("season=1", "season"),
        ("limit=101", "limit"),
        ("offset=-1", "offset"),
    ] {
        let answer = app.get(&format!("/leaderboard?{query}"), &key).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["error"]["details"]["field"]),
            (400, &json!(field)),
            "{query}"
        );
    }
}

#[tokio::test]
async fn entries_that_are_not_safe_count_0_on_a_combined_board() {
    let app = TestApp::new();
    scored(&app, "lab", 0.9).await;
    scored(&app, "other", 0.4).await;
    app.clock.forward(1);
    app.submission(&key(&app, "lab").await).await;
    app.work(|index| EpisodeResult { status: EpisodeStatus::PolicyError, success: false, ..scoring(index, 0.45) })
        .await;
    app.publish();
    let found = board(&app, "").await;
    assert_eq!(accounts(&found), [(json!(1), "other"), (Value::Null, "lab")]);
    let last = &found["entries"][1];
    assert_eq!(
        (&last["verdict"], &last["score"], &last["score_high"]),
        (&json!("INCONCLUSIVE"), &json!(0.0), &json!(0.0))
    );
}

#[tokio::test]
async fn entries_name_their_worlds_after_the_season_is_closed() {
    let app = TestApp::new();
    let (first, second) = (scored(&app, "first", 0.9).await, scored(&app, "second", 0.8).await);
    scored(&app, "third", 0.7).await;
    app.close_season_after(&[&first, &second], |index| scoring(index, 0.3)).await;
    let found = board(&app, "?scenario=cartpole_keepin").await;
    let summary =
        |entry: &Value| ["account", "rank", "worlds", "score", "season_score"].map(|field| entry[field].clone());
    let entries: Vec<_> = found["entries"].as_array().unwrap().iter().map(summary).collect();
    assert_eq!(
        json!(entries),
        json!([
            ["first", 1, "fresh", 440.0, 920.0],
            ["second", 1, "fresh", 440.0, 840.0],
            ["third", 3, "season", 760.0, 760.0],
        ])
    );
    // Overall, everybody's score is that of the worlds that all ran in.
    let overall = board(&app, "").await;
    assert_eq!(accounts(&overall), [(json!(1), "first"), (json!(2), "second"), (json!(3), "third")]);
    let scores: Vec<_> = overall["entries"].as_array().unwrap().iter().map(|entry| entry["score"].clone()).collect();
    assert_eq!(json!(scores), json!([0.46, 0.42, 0.38]));
    assert_eq!(
        (&overall["entries"][0]["worlds"], &overall["entries"][0]["season_score"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn evidence_is_released_with_the_season() {
    let app = TestApp::new();
    let lab = key(&app, "lab").await;
    let id = app.submitted(&lab).await;
    let get = async |path: &str| app.get(&format!("/submissions/{id}/{path}"), &lab).await;
    for path in ["episodes", "report", "report.json"] {
        let answer = get(path).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (403, "FORBIDDEN"), "{path}");
    }
    assert_eq!(get("attestation?run=closing").await.status, 403);
    let replay = format!("/submissions/{id}/replay");
    assert_eq!(app.post_json(&replay, &lab, &json!({})).await.status, 403);
    let secret = |answer: &Value| answer["seasons"][0]["secret"].clone();
    let open = app.get("/seasons", &lab).await.body;
    assert_eq!((&open["seasons"][0]["state"], secret(&open)), (&json!("OPEN"), Value::Null));
    app.close_season().await;
    let episodes = get("episodes").await;
    assert_eq!((episodes.status.as_u16(), &episodes.body["total"]), (200, &json!(4)), "{}", episodes.body);
    assert_eq!(get("report").await.status, 200);
    assert_eq!(get("report?run=season").await.status, 200);
    for path in ["episodes", "report", "report.json", "attestation"] {
        let none = get(&format!("{path}?run=closing")).await;
        assert_eq!((none.status.as_u16(), none.code()), (404, "NOT_FOUND"), "{path}: nothing was run again");
        let wrong = get(&format!("{path}?run=last")).await;
        assert_eq!((wrong.status.as_u16(), &wrong.body["error"]["details"]["field"]), (400, &json!("run")), "{path}");
    }
    assert_eq!(app.post_json(&format!("{replay}?run=closing"), &lab, &json!({})).await.status, 404);
    assert_eq!(app.post_json(&replay, &lab, &json!({})).await.status, 200);
    let closed = app.get("/seasons?scenario=cartpole_keepin", &lab).await.body;
    assert_eq!(closed["seasons"][0]["commitment"], open["seasons"][0]["commitment"]);
    assert_eq!(secret(&closed).as_str().map(str::len), Some(64));
    assert_eq!(app.get("/seasons?scenario=No!", &lab).await.body, json!({ "seasons": [] }));
}
