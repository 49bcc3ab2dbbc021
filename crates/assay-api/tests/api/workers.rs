//! Workers on other hosts: the operator's endpoints, and the protocol of the workers themselves.

use std::sync::Arc;
use std::time::Duration;

use assay_api::{ApiSettings, WakingQueue};
use assay_model::{Artifact, EpisodeResult, EpisodeStatus, GENERATION_HEADER, Sha256Digest};
use assay_store::{Queue, Work};
use axum::body::Body;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::app::{Answer, POLICY, Part, SCENARIO, SERVER, TestApp, request};

/// A worker that speaks the protocol by hand.
pub(crate) struct HandWorker<'a> {
    app: &'a TestApp,
    pub(crate) token: String,
    generation: u64,
}

impl<'a> HandWorker<'a> {
    pub(crate) async fn new(app: &'a TestApp, name: &str, admin: &str) -> Self {
        Self::create(app, admin, &json!({ "name": name })).await
    }

    /// Creates a worker that the operator trusts.
    pub(crate) async fn trusted(app: &'a TestApp, name: &str, admin: &str) -> Self {
        Self::create(app, admin, &json!({ "name": name, "trusted": true })).await
    }

    /// Returns token and registration.
    pub(crate) fn identity(&self) -> (String, u64) {
        (self.token.clone(), self.generation)
    }

    /// Returns a worker that is registered already.
    pub(crate) fn known(app: &'a TestApp, (token, generation): (String, u64)) -> Self {
        Self { app, token, generation }
    }

    async fn create(app: &'a TestApp, admin: &str, request: &Value) -> Self {
        let created = app.post_json("/workers", admin, request).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let token = created.body["token"].as_str().unwrap().to_owned();
        let mut worker = Self { app, token, generation: 0 };
        worker.register().await;
        worker
    }

    pub(crate) async fn register(&mut self) {
        self.register_as(&registration(1)).await;
    }

    /// Registers with this body.
    pub(crate) async fn register_as(&mut self, body: &Value) {
        let answer = self.post("/register", body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.generation = answer.body["generation"].as_u64().unwrap();
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let builder = request(method, &format!("/worker/v1{path}"), &self.token);
        let builder = builder.header("content-type", "application/json");
        self.app.send(builder.header(GENERATION_HEADER, self.generation).body(body.into()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, body.to_string()).await
    }

    /// Claims a shard; returns its lease and the assignment.
    pub(crate) async fn claim(&self) -> Option<(String, Value)> {
        let answer = self.post("/claim", &json!({ "wanted": "policy", "excluded_accounts": [], "wait_s": 0 })).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let shard = &answer.body["shard"];
        Some((shard["lease"].as_str()?.to_owned(), shard["assignment"].clone()))
    }

    pub(crate) async fn result(&self, lease: &str, result: &EpisodeResult) -> Answer {
        self.post("/results", &json!({ "results": [{ "lease": lease, "result": result }] })).await
    }
}

pub(crate) fn registration(protocol: u32) -> Value {
    let machine = assay_store_testing::fingerprint();
    json!({ "protocol": protocol, "registration": {
        "machine": machine, "runtimes": ["ba".repeat(32)], "lanes": 2, "cameras": true, "renders": true, "memory_mib": 4096,
        "labels": { "room": "b2" }, "version": "0.1.0",
    } })
}

/// A result without a step: it needs no evidence.
pub(crate) fn failed(episode: u32) -> EpisodeResult {
    let error = serde_json::from_value(json!({ "code": "error", "message": "m", "log_tail": "" })).ok();
    EpisodeResult { status: EpisodeStatus::PolicyError, steps: 0, error, ..assay_store_testing::episode(episode) }
}

pub(crate) async fn job(app: &TestApp, key: &str, episodes: u32) -> String {
    let episodes = episodes.to_string();
    let parts = [POLICY, SCENARIO, Part::Text("num_episodes", &episodes)];
    let answer = app.verify(key, &parts).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["job_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn workers_are_created_drained_and_revoked() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    assert_eq!(app.post_json("/workers", &app.key("lab", "read").await, &json!({ "name": "a" })).await.status, 403);
    for wrong in
        [json!({ "name": "A" }), json!({ "name": "" }), json!({ "name": "a", "expires_at": "2000-01-01T00:00:00Z" })]
    {
        assert_eq!(app.post_json("/workers", &admin, &wrong).await.status, 400, "{wrong}");
    }
    let worker = HandWorker::new(&app, "gpu-07", &admin).await;
    assert_eq!(app.post_json("/workers", &admin, &json!({ "name": "gpu-07" })).await.status, 409);
    let listed = app.get("/workers", &admin).await.body["workers"][0].clone();
    assert_eq!((&listed["name"], &listed["state"], &listed["lanes"]), (&json!("gpu-07"), &json!("ACTIVE"), &json!(2)));
    assert_eq!((&listed["labels"]["room"], &listed["same_machine"]), (&json!("b2"), &json!(true)));
    assert!(!listed.to_string().contains("token"), "no list contains a token");

    job(&app, &admin, 1).await;
    assert_eq!(app.post_json("/workers/gpu-07/drain", &admin, &json!({ "drain": true })).await.status, 200);
    let answer = worker.post("/claim", &json!({ "wanted": "policy", "excluded_accounts": [], "wait_s": 50 })).await;
    assert_eq!((&answer.body["drain"], &answer.body["shard"]), (&json!(true), &Value::Null));
    assert_eq!(app.post_json("/workers/gpu-07/drain", &admin, &json!({ "drain": false })).await.status, 200);
    let (lease, _) = worker.claim().await.unwrap();
    assert_eq!(app.send(request("DELETE", "/workers/gpu-07", &admin).body(Body::empty()).unwrap()).await.status, 204);
    for (path, body) in
        [("/beat", json!({ "leases": [lease], "progress": [] })), ("/results", json!({ "results": [] }))]
    {
        let refused = worker.post(path, &body).await;
        assert_eq!(refused.status, 401, "{path}");
        assert!(refused.message().contains("revoked"), "{}", refused.message());
    }
    assert_eq!(app.post_json("/workers/gpu-07/drain", &admin, &json!({ "drain": true })).await.status, 409);
    assert_eq!(app.post_json("/workers/nobody/drain", &admin, &json!({ "drain": true })).await.status, 404);
    let other = HandWorker::new(&app, "gpu-08", &admin).await;
    assert!(other.claim().await.is_some(), "the shard of the revoked worker is queued again");
}

#[tokio::test]
async fn errors_for_another_version_and_a_missing_token_name_the_remedy() {
    let app = TestApp::new();
    let admin = app.key("ops", "admin").await;
    let worker = HandWorker::new(&app, "a", &admin).await;
    let answer = worker.post("/register", &registration(2)).await;
    assert_eq!(answer.status, 409);
    assert!(answer.message().contains("install the same release"), "{}", answer.message());
    for key in ["", "assay_worker_00", &admin] {
        let answer = app.send(request("POST", "/worker/v1/claim", key).body(Body::from("{}")).unwrap()).await;
        assert_eq!(answer.status, 401, "{key}");
        assert!(answer.message().contains("assay_worker_"), "{}", answer.message());
    }
    let unknown = format!("assay_worker_{}", "0".repeat(64));
    assert_eq!(
        app.send(request("POST", "/worker/v1/claim", &unknown).body(Body::from("{}")).unwrap()).await.status,
        401
    );
    let registered = HandWorker { app: &app, token: worker.token.clone(), generation: 7 };
    assert_eq!(registered.post("/beat", &json!({ "leases": [], "progress": [] })).await.status, 409);
    assert_eq!(app.get("/verify", &worker.token).await.status, 401, "a worker's token is no key");
    for (path, body) in [("/claim", "{"), ("/claim", "[]"), ("/results", "{\"results\":7}"), ("/beat", "null")] {
        assert_eq!(worker.send("POST", path, body).await.status, 400, "{path} {body}");
    }
    let mut elsewhere = registration(1);
    elsewhere["registration"]["machine"]["glibc"] = json!("2.99");
    let refused = worker.post("/register", &elsewhere).await;
    assert_eq!(refused.status, 409);
    assert!(refused.message().contains("(glibc)") && refused.message().contains("--trusted"), "{}", refused.message());
    let created = app.post_json("/workers", &admin, &json!({ "name": "own", "trusted": true })).await;
    let token = created.body["token"].as_str().unwrap().to_owned();
    let trusted = HandWorker { app: &app, token, generation: 0 };
    assert_eq!(trusted.post("/register", &elsewhere).await.status, 200);
    let document = worker.send("GET", "/openapi.json", "").await;
    assert_eq!(document.status, 200);
    assert_eq!(document.body["openapi"], "3.1.0");
}

/// The least time for which a claim waits in the test below.
const WAITS: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_waiting_worker_gets_what_nothing_in_this_process_queued() {
    let app = TestApp::new();
    app.state.readiness.set(Ok(()));
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::new(&app, "one", &admin).await;
    let id = job(&app, &admin, 1).await;
    let (records, now) = (&app.state.records, app.state.clock.now());
    let lease = jiff::SignedDuration::from_secs(15);
    let held = records.claim_shard(&assay_store::ShardRequest::new("elsewhere"), now, lease).await.unwrap().unwrap();
    let wanted = json!({ "wanted": "policy", "excluded_accounts": [], "wait_s": 50 });
    let another_process = async {
        // The claim has begun long before.
        tokio::time::sleep(2 * WAITS).await;
        records.release_shard(held.fence).await.unwrap();
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = worker.post("/claim", &wanted) => answer,
        () = another_process => unreachable!(),
        () = assay_api::attend_workers(app.state.clone(), std::future::pending()) => unreachable!(),
    };
    assert_eq!(answer.body["shard"]["assignment"]["fence"]["job_id"], json!(id), "{}", answer.body);
    assert!(u128::from(answer.body["waited_ms"].as_u64().unwrap()) >= WAITS.as_millis(), "{}", answer.body);
}

#[tokio::test]
async fn a_shard_that_some_waiting_workers_cannot_run_reaches_the_one_that_can() {
    let app = TestApp::new();
    app.state.readiness.set(Ok(()));
    let admin = app.key("ops", "read,verify,admin").await;
    let mut workers = Vec::new();
    for (name, memory_mib) in [("small-1", 1), ("small-2", 1), ("large", 4096)] {
        let mut worker = HandWorker::new(&app, name, &admin).await;
        let mut own = registration(1);
        own["registration"]["memory_mib"] = json!(memory_mib);
        worker.register_as(&own).await;
        workers.push(worker);
    }
    let wanted = json!({ "wanted": "policy", "excluded_accounts": [], "wait_s": 50 });
    let small = join_all(workers[..2].iter().map(|worker| worker.post("/claim", &wanted)));
    let large = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        workers[2].post("/claim", &wanted).await
    };
    let queued = async {
        tokio::time::sleep(Duration::from_millis(600)).await;
        let id = job(&app, &admin, 1).await;
        let queue = WakingQueue::new(Arc::clone(&app.state.queue), app.state.worker_fleet.clone());
        queue.publish(Work::Shard { job_id: id.parse().unwrap(), shard: 0 }).await;
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        answer = large => answer,
        answers = small => panic!("{}", answers[0].body),
        () = queued => unreachable!(),
    };
    assert!(answer.body["shard"]["lease"].is_string(), "{}", answer.body);
}

#[tokio::test]
async fn one_claim_may_ask_for_jobs_of_policy_servers_too() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::new(&app, "one", &admin).await;
    assert_eq!(worker.post("/register", &registration(1)).await.body["shared_claims"], true);
    let mut worker = worker;
    worker.register().await;
    let made = app.verify(&admin, &[SERVER, SCENARIO, Part::Text("num_episodes", "1")]).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let claim =
        |or_server: bool| json!({ "wanted": "policy", "or_server": or_server, "excluded_accounts": [], "wait_s": 0 });
    let none = worker.post("/claim", &claim(false)).await;
    assert_eq!((none.status.as_u16(), &none.body["shard"]), (200, &Value::Null));
    let found = worker.post("/claim", &claim(true)).await;
    assert_eq!(found.body["shard"]["assignment"]["policy"]["kind"], "server", "{}", found.body);
    job(&app, &admin, 1).await;
    let own = worker.post("/claim", &claim(true)).await;
    assert_eq!(own.body["shard"]["assignment"]["policy"]["kind"], "archive", "{}", own.body);
}

#[tokio::test]
async fn claims_at_the_same_time_stay_within_a_workers_leases() {
    /// Of two lanes: three shards for each, and four of policy servers.
    const MOST: usize = 10;
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let (worker, other) = (HandWorker::new(&app, "one", &admin).await, HandWorker::new(&app, "two", &admin).await);
    for _ in 0..3 {
        job(&app, &admin, 100).await;
    }
    let claimed = join_all((0..2 * MOST).map(|_| worker.claim())).await;
    let mut held = claimed.into_iter().flatten().count();
    assert!(held <= MOST, "{held} claims were answered with a shard");
    while worker.claim().await.is_some() {
        held += 1;
    }
    assert_eq!(held, MOST);
    assert!(other.claim().await.is_some(), "what was too much is queued again");
}

#[tokio::test]
async fn a_lease_gives_access_to_its_own_inputs_only() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let (one, two) = (HandWorker::new(&app, "one", &admin).await, HandWorker::new(&app, "two", &admin).await);
    job(&app, &admin, 1).await;
    job(&app, &admin, 1).await;
    let ((first, assignment), (second, _)) = (one.claim().await.unwrap(), two.claim().await.unwrap());
    let text = assignment.to_string();
    assert!(text.contains("\"seeds\"") && !text.contains("policy_key") && !text.contains("policies/"), "{text}");

    let policy = one.send("GET", &format!("/leases/{first}/policy"), "").await;
    assert_eq!(policy.status, 200);
    let paths = ["policy", "scenario", "server", "models/0", "notes", "return"];
    for (worker, lease) in [(&one, &second), (&two, &first), (&one, &first.replace(".0.1.", ".0.2."))] {
        for path in paths {
            let method = if ["notes", "return"].contains(&path) { "POST" } else { "GET" };
            let answer = worker.send(method, &format!("/leases/{lease}/{path}"), "{}").await;
            assert_eq!(answer.status, 403, "{method} {path}: {}", answer.body);
        }
        let answer = worker.post("/beat", &json!({ "leases": [lease], "progress": [] })).await;
        assert_eq!(answer.status, 403);
        assert_eq!(worker.result(lease, &failed(0)).await.status, 403);
    }
    for wrong in ["x", "..%2f..", "0.0.0.0"] {
        assert_eq!(one.send("GET", &format!("/leases/{wrong}/policy"), "").await.status, 403, "{wrong}");
    }
    assert_eq!(one.send("GET", &format!("/leases/{first}/models/{}", "0".repeat(64)), "").await.status, 404);
    assert_eq!(one.send("GET", &format!("/leases/{first}/server"), "").await.status, 404);
}

#[tokio::test]
async fn evidence_is_what_its_hash_says_and_belongs_to_a_lease() {
    let app = TestApp::new();
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::new(&app, "one", &admin).await;
    let id = job(&app, &admin, 1).await;
    let (lease, _) = worker.claim().await.unwrap();
    let sha256 = Sha256Digest::of("evidence");
    let path = |sha256: &dyn std::fmt::Display| format!("/leases/{lease}/evidence/{sha256}");
    assert_eq!(worker.send("PUT", &path(&sha256), "something else").await.status, 422);
    assert_eq!(worker.send("PUT", &path(&"xyz"), "evidence").await.status, 404);
    assert_eq!(worker.send("PUT", &path(&sha256), "evidence").await.status, 204);
    assert_eq!(worker.send("PUT", &path(&sha256), "evidence").await.status, 204, "it may be sent again");
    let job = id.parse().unwrap();
    assert_eq!(app.state.blobs.size(job, sha256).await.unwrap(), 8);

    // A result refers only to what is there, under the names of an episode's files.
    *app.auditor.0.lock().unwrap() = Ok(None);
    let file = |name: &str, sha256| Artifact { name: name.to_owned(), sha256, size_bytes: 8 };
    let listing = |files: Vec<Artifact>| EpisodeResult { evidence: files, ..failed(0) };
    let names = assay_model::lane::files::STEPPED.map(|name| format!("episodes/000/{name}"));
    let absent = names.iter().map(|name| file(name, Sha256Digest::of("absent"))).collect();
    assert_eq!(worker.result(&lease, &listing(absent)).await.status, 422);
    let refused = worker.result(&lease, &listing(vec![file("../../assay.db", sha256)])).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert!(refused.message().contains("quarantined"), "{}", refused.message());
    assert_eq!(worker.send("PUT", &path(&sha256), "evidence").await.status, 401, "it is out");
}

#[tokio::test]
async fn results_count_once_and_only_under_a_lease_that_is_held() {
    let app = TestApp::with(ApiSettings { local_lanes: 0, ..ApiSettings::default() });
    let admin = app.key("ops", "read,verify,admin").await;
    let mut worker = HandWorker::new(&app, "one", &admin).await;
    let id = job(&app, &admin, 2).await;
    let (lease, assignment) = worker.claim().await.unwrap();
    let episode = u32::try_from(assignment["episodes"][0]["episode"].as_u64().unwrap()).unwrap();

    let unavailable = worker.result(&lease, &failed(episode)).await;
    assert_eq!(unavailable.status, 503, "an audit that can't be done proves nothing: {}", unavailable.body);
    *app.auditor.0.lock().unwrap() = Ok(None);
    let violation =
        json!({ "note": { "note": "replaced", "episode": episode, "reason": "lane_died", "evidence": "e" } });
    assert_eq!(worker.post(&format!("/leases/{lease}/notes"), &violation).await.status, 204);
    let foreign = json!({ "note": { "note": "replaced", "episode": 99, "reason": "lane_died", "evidence": "e" } });
    assert_eq!(worker.post(&format!("/leases/{lease}/notes"), &foreign).await.status, 400);
    let running = |episode: u32| json!({ "job_id": id, "episode": episode, "step": 3, "max_steps": 5 });
    let progress = [running(episode), running(77), running(200_000)];
    let beat = worker.post("/beat", &json!({ "leases": [lease], "progress": progress })).await;
    assert_eq!(beat.body, json!({ "lost": [], "drain": false }));
    let known = app.state.live.running(id.parse().unwrap());
    assert_eq!(known.iter().map(|running| running.episode).collect::<Vec<_>>(), [episode], "only of what it holds");
    let stray = worker.result(&lease, &failed(77)).await;
    assert_eq!(stray.body["outcomes"][0]["outcome"], "fenced", "{}", stray.body);

    let outcome = worker.result(&lease, &failed(episode)).await.body["outcomes"][0].clone();
    assert_eq!((&outcome["outcome"], &outcome["left_in_job"]), (&json!("new"), &json!(1)));
    assert_eq!(worker.result(&lease, &failed(episode)).await.body["outcomes"][0]["outcome"], "duplicate");
    assert_eq!(app.get(&format!("/verify/{id}"), &admin).await.body["progress"]["episodes_done"], 1);

    // Another process with the same token: the first one is out, its shard is queued again.
    let (second, _) = worker.claim().await.unwrap();
    let stale = HandWorker { app: &app, token: worker.token.clone(), generation: worker.generation };
    worker.register().await;
    assert_eq!(stale.post("/beat", &json!({ "leases": [second], "progress": [] })).await.status, 409);
    assert_eq!(worker.result(&second, &failed(1)).await.status, 403, "the lease was another process's");
    let (third, _) = worker.claim().await.unwrap();
    assert_eq!(worker.post("/leave", &json!({})).await.status, 204);
    let beat = worker.post("/beat", &json!({ "leases": [third], "progress": [] })).await;
    assert_eq!(beat.status, 409, "it has left");
}

#[tokio::test]
async fn a_refuted_result_puts_its_worker_out_and_its_episodes_run_again() {
    let app = TestApp::with(ApiSettings { local_lanes: 0, ..ApiSettings::default() });
    let admin = app.key("ops", "read,verify,admin").await;
    let liar = HandWorker::new(&app, "liar", &admin).await;
    let id = job(&app, &admin, 3).await;
    *app.auditor.0.lock().unwrap() = Ok(None);
    let (lease, assignment) = liar.claim().await.unwrap();
    let episode = u32::try_from(assignment["episodes"][0]["episode"].as_u64().unwrap()).unwrap();
    assert_eq!(liar.result(&lease, &failed(episode)).await.status, 200);
    let (lease, assignment) = liar.claim().await.unwrap();
    let next = u32::try_from(assignment["episodes"][0]["episode"].as_u64().unwrap()).unwrap();
    *app.auditor.0.lock().unwrap() = Ok(Some("its scores do not follow"));
    let refused = liar.result(&lease, &failed(next)).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    let listed = app.get("/workers", &admin).await.body["workers"][0].clone();
    assert_eq!(listed["state"], "QUARANTINED");
    assert!(listed["reason"].as_str().unwrap().contains("its scores do not follow"), "{listed}");
    assert_eq!(
        app.get(&format!("/verify/{id}"), &admin).await.body["progress"]["episodes_done"],
        0,
        "all of it runs again"
    );

    *app.auditor.0.lock().unwrap() = Ok(None);
    let honest = HandWorker::new(&app, "honest", &admin).await;
    let mut done = Vec::new();
    while let Some((lease, assignment)) = honest.claim().await {
        for assigned in assignment["episodes"].as_array().unwrap() {
            let episode = u32::try_from(assigned["episode"].as_u64().unwrap()).unwrap();
            let outcome = honest.result(&lease, &failed(episode)).await.body["outcomes"][0]["outcome"].clone();
            assert_eq!(outcome, "new");
            done.push(episode);
        }
    }
    done.sort_unstable();
    assert_eq!(done, [0, 1, 2]);
}
