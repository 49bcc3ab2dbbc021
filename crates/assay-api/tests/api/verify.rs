//! `POST /verify`, and the job object until its verdict.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use assay_api::{ApiSettings, RateLimits, router};
use assay_model::{Clock, PolicyKey, Sha256Digest};
use assay_store::{JobFailure, PolicyServerAccess, Queue, Records, ShardKind, ShardRequest, Work};
use assay_store_testing::{episode, outcome};
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::app::{POLICY, Part, SCENARIO, SERVER, TestApp, ZIP, form, request};

const LEASE: SignedDuration = SignedDuration::from_secs(60);

fn without_id(job: &Value) -> Value {
    let id = job["job_id"].as_str().unwrap().to_owned();
    serde_json::from_str(&job.to_string().replace(&id, "[id]")).unwrap()
}

#[tokio::test]
async fn a_policy_is_stored_before_the_response() {
    let app = TestApp::with(ApiSettings { lanes: NonZeroU32::new(2).unwrap(), ..ApiSettings::default() });
    let key = app.key("lab", "verify,read").await;
    let answer = app.verify(&key, &[POLICY, SCENARIO]).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let id = answer.body["job_id"].as_str().unwrap();
    assert_eq!(answer.headers["location"], format!("/verify/{id}"));
    insta::assert_json_snapshot!("queued", without_id(&answer.body));

    let sha256 = Sha256Digest::of(ZIP);
    assert_eq!(std::fs::read(app.folder.path().join(format!("policies/{sha256}.zip"))).unwrap(), ZIP);
    assert_eq!(app.leftovers(), 0);
    let job_id = id.parse().unwrap();
    for shard in 0..2 {
        let hint = app.state.queue.next(Duration::from_secs(5)).await;
        assert_eq!(hint, Some(Work::Shard { job_id, shard }));
    }
    assert_eq!(app.get(&format!("/v1/verify/{id}"), &key).await.body, answer.body);
}

/// A queue whose worker claims a shard before its publisher can go on.
#[derive(Debug)]
struct EagerQueue(Arc<dyn Records>, Timestamp);

#[async_trait]
impl Queue for EagerQueue {
    async fn publish(&self, _: Work) {
        self.0.claim_shard(&ShardRequest::new("eager"), self.1, LEASE).await.unwrap().unwrap();
    }

    async fn next(&self, _: Duration) -> Option<Work> {
        None
    }
}

#[tokio::test]
async fn the_response_is_the_accepted_job_even_if_a_worker_is_quicker() {
    let folder = tempfile::tempdir().unwrap();
    let mut app = TestApp::on(folder, ApiSettings { rate: RateLimits::all(1_000_000), ..ApiSettings::default() });
    app.state.queue = Arc::new(EagerQueue(app.state.records.clone(), app.clock.now()));
    app.router = router(app.state.clone());
    let key = app.key("lab", "verify,read").await;
    let accepted = app.verify(&key, &[POLICY, SCENARIO]).await.body;
    assert_eq!(
        (&accepted["status"], &accepted["started_at"], &accepted["progress"]["stage"], &accepted["queue_position"]),
        (&json!("QUEUED"), &json!(null), &json!("queued"), &json!(1)),
    );
    let path = format!("/verify/{}", accepted["job_id"].as_str().unwrap());
    assert_eq!(app.get(&path, &key).await.body["status"], "RUNNING");
}

#[tokio::test]
async fn all_parts_of_the_request_are_in_the_job() {
    let app = TestApp::with(ApiSettings { public_url: Some("https://x.org".into()), ..ApiSettings::default() });
    let key = app.key("lab", "verify").await;
    let parts = [
        Part::Text("scenario_id", "tabletop_reach"),
        Part::Text("num_episodes", "59"),
        Part::Text("seed", "18446744073709551615"),
        Part::Text("max_violation_probability", "0.05"),
        Part::Text("confidence_level", "0.9"),
        Part::Text("record", "none"),
        Part::Text("policy_name", " my \u{1b}[31mpolicy "),
        Part::Text("policy_url", "http://user:secret@127.0.0.1/"),
        POLICY,
    ];
    let answer = app.send(form(request("POST", "/v1/verify", &key), &parts)).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let id = answer.body["job_id"].as_str().unwrap();
    assert_eq!(answer.headers["location"], format!("https://x.org/v1/verify/{id}"));
    assert_eq!(answer.body["seed"], json!(u64::MAX));
    assert_eq!((&answer.body["num_episodes"], &answer.body["policy_name"]), (&json!(59), &json!("my policy")));
    let warnings = answer.body["warnings"].to_string();
    assert!(warnings.contains("policy_url was ignored") && !warnings.contains("secret"), "{warnings}");
    let record = app.state.records.job(None, id.parse().unwrap()).await.unwrap().unwrap();
    let plan = record.header.plan;
    assert_eq!((plan.target, plan.confidence_level, plan.max_violation_probability), (Some(0.05), 0.9, 0.1));
    assert_eq!(record.header.record, assay_model::Record::None);
}

#[tokio::test]
async fn seed_and_policy_key_are_drawn_derived_or_given() {
    let app = TestApp::new();
    let key = app.key("lab", "verify").await;
    let of = async |parts: &[Part<'_>]| {
        let answer = app.verify(&key, &[&[POLICY, SCENARIO], parts].concat()).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        let header = app.state.records.job(None, answer.body["job_id"].as_str().unwrap().parse().unwrap()).await;
        let header = header.unwrap().unwrap().header;
        assert_eq!(
            (&answer.body["seed"], &answer.body["policy_key"]),
            (&json!(header.seed), &json!(header.policy_key))
        );
        (header.seed, header.policy_key.unwrap())
    };
    let ((a, one), (b, other)) = (of(&[]).await, of(&[]).await);
    assert!(a != b && one != other && a.max(b) < 1 << 53, "{a} {b}");
    assert_ne!(one, PolicyKey::from_seed(a));
    assert_eq!(of(&[Part::Text("seed", "5")]).await, (5, PolicyKey::from_seed(5)));
    let given = "5E".repeat(32);
    assert_eq!(of(&[Part::Text("seed", "5"), Part::Text("policy_key", &given)]).await, (5, PolicyKey::new([0x5e; 32])));
    let (seed, key) = of(&[Part::Text("policy_key", &given)]).await;
    assert!(seed != 5 && key == PolicyKey::new([0x5e; 32]));
}

#[tokio::test]
async fn the_credentials_of_a_policy_server_are_stored_apart_from_its_job() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let more = [Part::Text("policy_api_key", " k-secret "), Part::Text("policy_concurrency", "4")];
    let reach = Part::Text("scenario", "tabletop_reach");
    let answer = app.verify(&key, &[&[SERVER, reach, Part::Text("num_episodes", "20")], &more[..]].concat()).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let (id, body) = (answer.body["job_id"].as_str().unwrap(), &answer.body);
    assert_eq!((&body["policy_identity"], &body["policy_sha256"]), (&json!("declared"), &json!(null)));
    assert_eq!((&body["policy_name"], &body["warnings"]), (&json!("ws://policy.test:8000/"), &json!([])));
    assert_eq!(body["replan_steps"], json!(8), "the scenario's");
    assert!(!body.to_string().contains("secret"), "{body}");
    let job_id = id.parse().unwrap();
    let Some(PolicyServerAccess::Call(call)) = app.state.servers.get(job_id).unwrap() else { panic!("not called") };
    assert_eq!(call.url.reveal(), "ws://policy.test:8000/?token=t-secret");
    assert_eq!((call.api_key.unwrap().reveal(), call.concurrency), ("k-secret", 4));
    // One shard, for whoever works for policy servers.
    let records = &app.state.records;
    assert!(records.claim_shard(&ShardRequest::new("w"), app.state.clock.now(), LEASE).await.unwrap().is_none());
    let claim = records
        .claim_shard(&ShardRequest::new("w").of_kind(ShardKind::Server), app.state.clock.now(), LEASE)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((claim.episodes.len(), claim.header.replan_steps), (20, Some(8)));
    assert_eq!(app.post(&format!("/verify/{id}/cancel"), &key).await.status, 200);
    assert!(app.state.servers.get(job_id).unwrap().is_none());

    let asked = app.verify(&key, &[SERVER, reach, Part::Text("replan_steps", "3")]).await.body;
    assert_eq!(asked["replan_steps"], json!(3), "the request's");
    let both = app.verify(&key, &[&[SERVER, reach, POLICY], &more[..]].concat()).await.body;
    assert_eq!((&both["policy_identity"], &both["replan_steps"]), (&json!("measured"), &json!(null)));
    let ignored = |name| json!(format!("{name} was ignored: the archive in policy is evaluated"));
    let names = ["policy_url", "policy_api_key", "policy_concurrency"];
    assert_eq!(both["warnings"], json!(names.map(ignored)));
    assert!(app.state.servers.get(both["job_id"].as_str().unwrap().parse().unwrap()).unwrap().is_none());
}

#[tokio::test]
async fn the_job_object_follows_the_work() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let created = app.verify(&key, &[POLICY, SCENARIO, Part::Text("num_episodes", "2")]).await;
    let path = format!("/verify/{}", created.body["job_id"].as_str().unwrap());
    let records = &app.state.records;

    app.clock.forward(5);
    let claim = records.claim_shard(&ShardRequest::new("w"), app.state.clock.now(), LEASE).await.unwrap().unwrap();
    let mut result = episode(1);
    result.video_path = Some("episodes/001/video.mp4".into());
    result.log_path = Some("episodes/001/trace.parquet".into());
    records.record_episode(claim.fence, result, app.state.clock.now()).await.unwrap();
    let running = app.get(&path, &key).await.body;
    assert_eq!((&running["status"], &running["progress"]["episodes_done"]), (&json!("RUNNING"), &json!(1)));
    assert_eq!(running["started_at"], json!("2025-06-15T15:06:45Z"));
    assert_eq!(running["episode_details"][0]["video_url"], json!(null), "evidence has no address yet");

    records.record_episode(claim.fence, episode(0), app.state.clock.now()).await.unwrap();
    let judging = app.get(&path, &key).await.body;
    assert_eq!((&judging["status"], &judging["waiting_for"]), (&json!("JUDGING"), &json!("the conclusion")));

    let taken = records.claim_conclusion("w", app.state.clock.now(), LEASE).await.unwrap().unwrap();
    let found = outcome(&taken.header, &taken.episodes);
    app.clock.forward(1);
    assert!(
        records.complete_job(taken.fence, found, assay_store_testing::signed(), app.state.clock.now()).await.unwrap()
    );
    let done = app.get(&path, &key).await.body;
    insta::assert_json_snapshot!("completed", without_id(&done));
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&done), keys(&created.body), "every field is there in every state");
}

#[tokio::test]
async fn a_failed_job_names_the_cause() {
    let app = TestApp::new();
    let key = app.key("lab", "verify,read").await;
    let created = app.verify(&key, &[POLICY, SCENARIO]).await;
    let id = created.body["job_id"].as_str().unwrap();
    let failure = JobFailure { blame: assay_model::Blame::Platform, message: "the lane was killed".into() };
    app.state.records.fail_job(id.parse().unwrap(), failure, app.state.clock.now()).await.unwrap();
    let failed = app.get(&format!("/verify/{id}"), &key).await.body;
    assert_eq!(failed["status"], json!("FAILED"));
    assert_eq!((&failed["blame"], &failed["error_message"]), (&json!("platform"), &json!("the lane was killed")));
    assert_eq!(failed["verdict"], json!(null));
}
