//! The operations and pages for operators: accounts with their caps, servers with their lanes, storage with its
//! retention.

use std::io::Write;

use assay_api::{AccountLimits, ApiSettings, Retention};
use assay_model::{Clock, JobId, Sha256Digest};
use assay_store::EpisodeProgress;
use serde_json::json;

use crate::app::{POLICY, SCENARIO, TestApp};
use crate::sessions::sign_in;
use crate::ui::{html, open};

/// Opens a page as an administrator.
async fn look(app: &TestApp, admin: &str, path: &str) -> String {
    let cookie = sign_in(app, admin).await.cookie;
    html(&open(app, path, &cookie).await).to_owned()
}

#[tokio::test]
async fn accounts_show_what_they_use_of_their_caps() {
    let account = AccountLimits { active_jobs: 2, jobs_per_day: 40, ..AccountLimits::default() };
    let app = TestApp::with(ApiSettings { account, ..ApiSettings::default() });
    let admin = app.key("ops", "admin").await;
    let key = app.key("lab", "verify,read").await;
    app.key("lab", "read").await;
    for _ in 0..2 {
        assert_eq!(app.verify(&key, &[POLICY, SCENARIO]).await.status, 201);
    }
    let answer = app.get("/accounts", &admin).await.body;
    assert_eq!((&answer["total"], &answer["limits"]["active_jobs"]), (&json!(2), &json!(2)));
    let lab = &answer["accounts"][0];
    assert_eq!(lab["account"], "lab", "by name");
    for (field, value) in [("valid_keys", 2), ("jobs_today", 2), ("active_jobs", 2), ("models", 0), ("model_bytes", 0)]
    {
        assert_eq!(lab[field], value, "{field}");
    }
    assert!(lab["queued_sim_s"].as_u64().unwrap() > 0 && lab["stored_bytes"].as_u64().unwrap() > 0, "{lab}");
    assert_eq!(answer["accounts"][1]["active_jobs"], 0, "each has its own: {answer}");
    let second = app.get("/accounts?limit=1&offset=1", &admin).await.body;
    assert_eq!((&second["accounts"][0]["account"], &second["accounts"][1]), (&json!("ops"), &json!(null)));
    assert_eq!(app.get("/accounts?limit=0", &admin).await.status, 400);
    assert_eq!(app.get("/accounts", &key).await.status, 403);

    let page = look(&app, &admin, "/ui/accounts").await;
    let part = "<span class=\"warn\">2</span> <span class=\"soft\">of 2</span>";
    assert!(page.contains(part), "all of a cap is used: {page}");
    assert!(page.contains("<span>2</span> <span class=\"soft\">of 40</span>"), "{page}");
    let first = look(&app, &admin, "/ui/accounts?limit=1").await;
    assert!(first.contains("?offset=1") && !first.contains("<strong>ops</strong>"), "{first}");
}

#[tokio::test]
async fn servers_show_their_lanes_and_what_runs() {
    let app = TestApp::with(ApiSettings { local_lanes: 3, ..ApiSettings::default() });
    let admin = app.key("ops", "admin").await;
    let idle = app.get("/servers", &admin).await.body;
    assert_eq!(
        (&idle["running_shards"], &idle["waiting_shards"], &idle["worker_lanes"]),
        (&json!(0), &json!(0), &json!(0))
    );
    assert!(look(&app, &admin, "/ui/servers").await.contains("No episode runs."));

    let key = app.key("lab", "verify,read,submit").await;
    let job = app.verify(&key, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    let hidden = app.submission(&key).await;
    for (id, episode) in [(&job, 4), (&hidden, 7)] {
        app.live.report(id.parse().unwrap(), EpisodeProgress { episode, step: 120, max_steps: 500 });
    }
    let answer = app.get("/servers", &admin).await.body;
    let server = &answer["servers"][0];
    assert_eq!(
        (&server["lanes"], &server["is_this"], &server["same_machine"]),
        (&json!(3), &json!(true), &json!(true))
    );
    let episode = json!([{ "job_id": job, "account": "lab", "scenario": "cartpole_keepin", "episode": 4,
                           "step": 120, "max_steps": 500 }]);
    assert_eq!(server["episodes"], episode, "nothing of a submission");
    assert_eq!(server["other_episodes"], 1);
    assert!(answer["waiting_shards"].as_u64().unwrap() >= 1, "{answer}");
    assert_eq!(app.get("/servers", &key).await.status, 403);
    let page = look(&app, &admin, "/ui/servers").await;
    for part in ["WORK WAITS", &*job, "120 of 500", "1 more, of submissions"] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    assert!(!page.contains(&hidden));
}

#[tokio::test]
async fn storage_shows_what_is_kept_and_what_is_removed_next() {
    let retention = Retention { evidence_days: 0.01, policy_days: 0.02, ..Retention::default() };
    let app = TestApp::with(ApiSettings { retention, ..ApiSettings::default() });
    let (admin, key) = (app.key("ops", "admin").await, app.key("lab", "verify,read").await);
    let job: JobId = app.completed(&key, 1).await.parse().unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&[7; 3000]).unwrap();
    app.state.blobs.put(job, Sha256Digest::of("a file"), file.path()).await.unwrap();
    let report = async || {
        let answer = app.get("/storage", &admin).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    };
    let due = |report: &serde_json::Value| {
        let next = &report["next_removal"];
        ["evidence_jobs", "policies"].map(|name| next[name].as_u64().unwrap())
    };
    let fresh = report().await;
    assert_eq!((fresh["evidence_jobs"].as_u64(), due(&fresh)), (Some(1), [0, 0]), "{fresh}");
    assert!(fresh["evidence_bytes"].as_u64().unwrap() >= 3000 && fresh["free_bytes"].as_u64().unwrap() > 0, "{fresh}");
    assert_eq!((&fresh["retention"]["evidence_days"], &fresh["retention"]["model_days"]), (&json!(0.01), &json!(null)));
    assert!(look(&app, &admin, "/ui/storage").await.contains("<td>nothing</td>"));

    app.clock.forward(1000);
    let later = report().await;
    assert_eq!(due(&later), [1, 0], "{later}");
    assert_eq!(later["next_removal"]["evidence_bytes"], later["evidence_bytes"]);
    app.clock.forward(1000);
    assert_eq!(due(&report().await), [1, 1]);
    let page = look(&app, &admin, "/ui/storage").await;
    for part in ["<td>1 job, 2.9 KiB</td>", "0.01 days after the end of the job", "<td>1 job</td>", "forever"] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
    // What was announced is what the next round does.
    app.state.records.drop_evidence(job, app.clock.now()).await.unwrap();
    let decided = report().await;
    assert_eq!(due(&decided), [0, 1], "{decided}");
    assert_eq!(decided["next_removal"]["pending_jobs"], 1, "its files still exist");
    assert_eq!(app.get("/storage", &key).await.status, 403);
}

#[tokio::test]
async fn evidence_beyond_the_limit_is_due() {
    let retention = Retention { evidence_max_mib: 1, ..Retention::default() };
    let app = TestApp::with(ApiSettings { retention, ..ApiSettings::default() });
    let (admin, key) = (app.key("ops", "admin").await, app.key("lab", "verify,read").await);
    for content in ["one", "two", "three"] {
        let job: JobId = app.completed(&key, 1).await.parse().unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 600 << 10]).unwrap();
        app.state.blobs.put(job, Sha256Digest::of(content), file.path()).await.unwrap();
        app.clock.forward(60);
    }
    let report = app.get("/storage", &admin).await.body;
    assert_eq!(report["next_removal"]["evidence_jobs"], 2, "the two that ended first: {report}");
    assert_eq!(report["retention"]["evidence_max_bytes"], 1 << 20);
    assert!(look(&app, &admin, "/ui/storage").await.contains("at most 1 MiB"));
}

/// Requests of administrators and reviewers about another account's job, and the record of each.
const ACCESSES: [(&str, &str, &str, &str); 9] = [
    ("review", "GET", "/verify/{job}", "read a job"),
    ("review", "GET", "/verify/{job}/episodes", "read a job's episodes"),
    ("review", "GET", "/verify/{job}/report", "read a report"),
    ("review", "GET", "/verify/{job}/attestation", "read a statement"),
    ("review", "GET", "/verify/{job}/archive?evidence=false", "downloaded an archive"),
    ("review", "GET", "/verify/{job}/events", "followed a job"),
    ("review", "PAGE", "/ui/verifications/{job}", "opened the page of a job"),
    ("admin", "POST", "/verify/{job}/replay", "replayed an episode"),
    ("admin", "DELETE", "/verify/{job}", "erased a job"),
];

#[tokio::test]
async fn accesses_to_other_accounts_are_recorded() {
    let app = TestApp::new();
    let admin = app.key("ops", "admin,verify,read").await;
    let reviewer = app.key("reviewers", "review,verify,read").await;
    let lab = app.key("lab", "verify,read").await;
    let job = app.verify(&lab, &[POLICY, SCENARIO]).await.body["job_id"].as_str().unwrap().to_owned();
    app.work(assay_store_testing::episode).await;
    let listed = async || app.get("/accesses", &admin).await.body["accesses"].as_array().unwrap().clone();
    assert_eq!(app.get(&format!("/verify/{job}"), &lab).await.status, 200);
    assert_eq!(listed().await.len(), 0, "what is one's own is not recorded");
    for (scope, method, path, action) in ACCESSES {
        let (key, account) = if scope == "admin" { (&admin, "ops") } else { (&reviewer, "reviewers") };
        let path = path.replace("{job}", &job);
        app.clock.forward(1);
        match method {
            "PAGE" => drop(look(&app, key, &path).await),
            "GET" if path.ends_with("/events") => {
                let request = crate::app::request("GET", &path, key).body(axum::body::Body::empty()).unwrap();
                assert_eq!(tower::ServiceExt::oneshot(app.router.clone(), request).await.unwrap().status(), 200);
            }
            _ => drop(app.send(crate::app::request(method, &path, key).body(axum::body::Body::empty()).unwrap()).await),
        }
        let found = listed().await;
        let expected = json!({
            "at": app.state.clock.now().to_string(), "key_id": key.split('_').nth(1), "account": account,
            "owner": "lab", "action": action, "target": job,
        });
        assert_eq!(found[0], expected, "{method} {path}");
    }
    let recorded = listed().await.len();
    assert_eq!(recorded, ACCESSES.len());
    // The same within a minute is one; a page of the list, and its filters.
    assert_eq!(app.get(&format!("/verify/{job}"), &reviewer).await.status, 410);
    let page = app.get("/accesses?account=reviewers&limit=2&offset=1", &admin).await.body;
    assert_eq!((page["accesses"].as_array().unwrap().len(), &page["next"]), (2, &json!(3)));
    assert_eq!(app.get("/accesses?owner=ops", &admin).await.body["accesses"], json!([]));
    assert_eq!(app.get("/accesses?owner=No", &admin).await.status, 400);
    assert_eq!(app.get("/accesses", &reviewer).await.status, 403);
    assert_eq!(
        app.post_json("/keys", &admin, &json!({ "name": "k", "scopes": ["read"], "account": "lab" })).await.status,
        201
    );
    assert_eq!((&listed().await[0]["action"], &listed().await[0]["owner"]), (&json!("created a key"), &json!("lab")));
}
