//! Limits of a worker's word: failures and violations that no trace shows, notes, and how long a job waits.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use assay_api::{AccountLimits, ApiSettings};
use assay_model::{AttemptNote, EpisodeResult, EpisodeStatus, Sha256Digest, Termination};
use assay_store::ShardRequest;
use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::disk::until;
use crate::workers::{HandWorker, failed, job};

/// Longest pause of a worker that claims in vain, and the time in which others confirm a failure, in seconds.
const LONGEST_S: i64 = 300;

fn completed(episode: u32) -> EpisodeResult {
    let (status, termination) = (EpisodeStatus::Completed, Termination::Success);
    EpisodeResult { status, termination, error: None, ..failed(episode) }
}

/// Returns an app without lanes, whose audits confirm everything, and an admin's key.
async fn app() -> (TestApp, String) {
    let app = TestApp::with(ApiSettings { local_lanes: 0, ..ApiSettings::default() });
    let admin = app.key("ops", "read,verify,admin").await;
    *app.auditor.0.lock().unwrap() = Ok(None);
    (app, admin)
}

async fn recorded(app: &TestApp, id: &str, episode: usize) -> EpisodeResult {
    app.state.records.episodes(id.parse().unwrap(), 0, 100).await.unwrap().swap_remove(episode)
}

#[tokio::test]
async fn a_failure_counts_once_a_second_worker_has_seen_it() {
    let (app, admin) = app().await;
    let (one, two) = (HandWorker::new(&app, "one", &admin).await, HandWorker::new(&app, "two", &admin).await);
    let id = job(&app, &admin, 1).await;
    let (lease, _) = one.claim().await.unwrap();
    assert_eq!(one.result(&lease, &failed(0)).await.body["outcomes"][0]["outcome"], "fenced");
    assert!(one.claim().await.is_none(), "another worker is to confirm it");
    let (lease, assignment) = two.claim().await.unwrap();
    assert_eq!(assignment["notes"][0]["reason"], "unconfirmed", "{assignment}");
    assert_eq!(two.result(&lease, &failed(0)).await.body["outcomes"][0]["outcome"], "new");
    let result = recorded(&app, &id, 0).await;
    assert_eq!((result.status, result.unconfirmed.len()), (EpisodeStatus::PolicyError, 0));
    assert!(result.replaced_attempts[0].evidence.starts_with("worker one alone reported"), "{result:?}");
}

#[tokio::test]
async fn a_shard_with_several_failures_is_left_out_by_one_worker_at_a_time() {
    // Whether the second report confirms the first or not, the next episode fails for the second worker.
    for second in [failed, completed] {
        let (app, admin) = app().await;
        let workers = [HandWorker::new(&app, "one", &admin).await, HandWorker::new(&app, "two", &admin).await];
        let id = job(&app, &admin, 60).await;
        let (mut longest, mut reported) = (0, BTreeSet::new());
        // Each runs what it gets, as a lane does: episode after episode, until a result is fenced.
        for _ in 0..100 {
            for worker in &workers {
                worker.post("/beat", &json!({ "leases": [], "progress": [] })).await;
                let Some((lease, assignment)) = worker.claim().await else { continue };
                let episodes = assignment["episodes"].as_array().unwrap();
                longest = longest.max(episodes.len());
                for episode in episodes {
                    let episode = u32::try_from(episode["episode"].as_u64().unwrap()).unwrap();
                    let result = if reported.insert(episode) { failed(episode) } else { second(episode) };
                    if worker.result(&lease, &result).await.body["outcomes"][0]["outcome"] != "new" {
                        break;
                    }
                }
            }
            app.clock.forward(2);
        }
        assert!(longest > 2, "a shard has several failures");
        let results = app.state.records.episodes(id.parse().unwrap(), 0, 100).await.unwrap();
        assert_eq!(results.len(), 60, "within 200 s, less than a worker is left out");
        assert!(results.iter().all(|result| result.unconfirmed.is_empty()), "the workers confirm each other");
    }
}

#[tokio::test]
async fn an_episode_that_succeeds_on_another_worker_lists_the_failure_as_a_replaced_attempt() {
    let (app, admin) = app().await;
    let (liar, honest) = (HandWorker::new(&app, "liar", &admin).await, HandWorker::new(&app, "honest", &admin).await);
    let id = job(&app, &admin, 1).await;
    let (lease, _) = liar.claim().await.unwrap();
    liar.result(&lease, &failed(0)).await;
    let (lease, _) = honest.claim().await.unwrap();
    assert_eq!(honest.result(&lease, &completed(0)).await.body["outcomes"][0]["outcome"], "new");
    let result = recorded(&app, &id, 0).await;
    assert_eq!((result.status, result.replaced_attempts.len()), (EpisodeStatus::Completed, 1));
}

#[tokio::test]
async fn a_failure_is_unconfirmed_if_no_other_worker_runs_the_episode() {
    let (app, admin) = app().await;
    let alone = HandWorker::new(&app, "alone", &admin).await;
    let id = job(&app, &admin, 1).await;
    let (lease, _) = alone.claim().await.unwrap();
    assert_eq!(alone.result(&lease, &failed(0)).await.body["outcomes"][0]["outcome"], "new");
    assert_eq!(recorded(&app, &id, 0).await.unconfirmed, ["worker alone alone reported that the episode failed"]);

    // Another worker is there, but does not take the shard in time.
    let idle = HandWorker::new(&app, "idle", &admin).await;
    let id = job(&app, &admin, 1).await;
    let (lease, _) = alone.claim().await.unwrap();
    assert_eq!(alone.result(&lease, &failed(0)).await.body["outcomes"][0]["outcome"], "fenced");
    app.clock.forward(LONGEST_S - 1);
    assert!(alone.claim().await.is_none());
    app.clock.forward(1);
    idle.post("/beat", &json!({ "leases": [], "progress": [] })).await;
    let (lease, _) = alone.claim().await.unwrap();
    assert_eq!(alone.result(&lease, &failed(0)).await.body["outcomes"][0]["outcome"], "new");
    assert_eq!(recorded(&app, &id, 0).await.unconfirmed.len(), 1);
}

#[tokio::test]
async fn a_trusted_worker_needs_no_second() {
    let (app, admin) = app().await;
    HandWorker::new(&app, "other", &admin).await;
    let own = HandWorker::trusted(&app, "own", &admin).await;
    let id = job(&app, &admin, 1).await;
    let (lease, _) = own.claim().await.unwrap();
    assert_eq!(own.result(&lease, &failed(0)).await.body["outcomes"][0]["outcome"], "new");
    let result = recorded(&app, &id, 0).await;
    assert!(result.unconfirmed.is_empty() && result.replaced_attempts.is_empty(), "{result:?}");
}

#[tokio::test]
async fn a_violation_names_its_only_witness_in_the_records_and_nowhere_else() {
    let (app, admin) = app().await;
    let stranger = HandWorker::new(&app, "stranger", &admin).await;
    let own = HandWorker::trusted(&app, "own", &admin).await;
    job(&app, &admin, 2).await;
    let note = |episode: u64| {
        let mut note = violated("keep_in");
        (note["note"]["episode"], note["note"]["origin"]) = (json!(episode), json!({ "worker": "own", "claim": 9 }));
        note
    };
    let mut origins = Vec::new();
    for worker in [&stranger, &own] {
        let (lease, assignment) = worker.claim().await.unwrap();
        let episode = assignment["episodes"][0]["episode"].as_u64().unwrap();
        let path = format!("/leases/{lease}/notes");
        // The second is the first again.
        for _ in 0..2 {
            assert_eq!(worker.post(&path, &note(episode)).await.status, 204);
        }
        let failure = json!({ "note": { "note": "failed", "episode": episode, "code": "exception",
                                        "origin": { "worker": "own", "claim": 1 } } });
        assert_eq!(worker.post(&path, &failure).await.status, 400, "only results report failures");
        assert_eq!(worker.post(&format!("/leases/{lease}/return"), &json!({ "how": "release" })).await.status, 204);
        app.clock.forward(2);
        let (again, assignment) = worker.claim().await.unwrap();
        assert!(!assignment["notes"].to_string().contains("origin"), "{assignment}");
        let shard = assignment["fence"]["shard"].as_u64().unwrap();
        let fence = serde_json::from_value(assignment["fence"].clone()).unwrap();
        let notes = app.state.records.leased_shard(fence).await.unwrap().unwrap().notes;
        origins.extend(notes.into_iter().filter_map(|note| match note {
            AttemptNote::Violated { origin, .. } => Some((shard, origin.map(|origin| (origin.worker, origin.claim)))),
            _ => None,
        }));
        drop(again);
    }
    origins.sort();
    let named: Vec<_> = origins.iter().map(|(_, origin)| origin.clone()).collect();
    assert_eq!(named.iter().flatten().collect::<Vec<_>>(), [&("stranger".to_owned(), 1)], "{origins:?}");
}

#[tokio::test]
async fn one_worker_cannot_fill_the_notes_of_an_episode() {
    let (app, admin) = app().await;
    let (liar, honest) = (HandWorker::new(&app, "liar", &admin).await, HandWorker::new(&app, "honest", &admin).await);
    job(&app, &admin, 1).await;
    let mut refused = 0;
    for _ in 0..65 {
        let (lease, _) = liar.claim().await.unwrap();
        for note in [violated("keep_in"), violated("end_stop_force")] {
            refused += u32::from(liar.post(&format!("/leases/{lease}/notes"), &note).await.status == 400);
        }
        liar.post(&format!("/leases/{lease}/return"), &json!({ "how": "release" })).await;
        app.clock.forward(LONGEST_S);
    }
    assert_eq!(refused, 2);
    let (lease, _) = honest.claim().await.unwrap();
    assert_eq!(honest.post(&format!("/leases/{lease}/notes"), &violated("keep_in")).await.status, 204);
}

#[tokio::test]
async fn a_violation_that_no_episode_can_have_is_refused() {
    let (app, admin) = app().await;
    let worker = HandWorker::new(&app, "liar", &admin).await;
    job(&app, &admin, 1).await;
    let (lease, assignment) = worker.claim().await.unwrap();
    let path = format!("/leases/{lease}/notes");
    let changes: [(&str, Value); 10] = [
        ("clause", json!("invented")),
        ("clause", json!("cart_speed")),
        ("limit", json!(0.5)),
        ("unit", json!("N")),
        ("robustness", json!(0.0)),
        ("start_s", json!(-0.1)),
        ("start_s", json!(0.7)),
        ("start_s", json!(1e300)),
        ("end_s", json!(10.03)),
        ("end_s", json!(0.4)),
    ];
    for (key, value) in changes {
        let mut note = violated("keep_in");
        note["note"]["violation"][key] = value;
        let answer = worker.post(&path, &note).await;
        assert_eq!(answer.status, 422, "{note}: {}", answer.body);
    }
    let fence = serde_json::from_value(assignment["fence"].clone()).unwrap();
    assert_eq!(app.state.records.leased_shard(fence).await.unwrap().unwrap().notes, []);
    let mut at_the_end = violated("keep_in");
    (at_the_end["note"]["violation"]["start_s"], at_the_end["note"]["violation"]["end_s"]) = (json!(10), json!(10.002));
    assert_eq!(worker.post(&path, &at_the_end).await.status, 204);
}

/// Returns a violation in episode 0 that a real worker could report.
fn violated(clause: &str) -> Value {
    let (limit, unit) = if clause == "keep_in" { (1.0, "m") } else { (50.0, "N") };
    json!({ "note": { "note": "violated", "episode": 0, "violation": {
        "clause": clause, "level": "critical", "start_s": 0.5, "end_s": 0.6, "value": null, "limit": limit,
        "unit": unit, "robustness": -1.0,
    } } })
}

#[tokio::test]
async fn a_worker_that_hands_a_job_back_gets_it_more_and_more_rarely() {
    let (app, admin) = app().await;
    let liar = HandWorker::new(&app, "liar", &admin).await;
    HandWorker::new(&app, "busy", &admin).await;
    job(&app, &admin, 1).await;
    let mut claims = 0;
    for _ in 0..1000 {
        if let Some((lease, _)) = liar.claim().await {
            claims += 1;
            let how = json!({ "how": "release" });
            assert_eq!(liar.post(&format!("/leases/{lease}/return"), &how).await.status, 204);
        }
        app.clock.forward(1);
    }
    assert!((8..=13).contains(&claims), "{claims} claims in 1000 s");
    // Another job, and the same one once there is nobody else, are no problem.
    app.clock.forward(LONGEST_S);
    job(&app, &admin, 1).await;
    assert!(liar.claim().await.is_some() && liar.claim().await.is_some());
}

#[tokio::test]
async fn one_worker_cannot_fail_a_job_while_others_wait_for_it() {
    let (app, admin) = app().await;
    let liar = HandWorker::new(&app, "liar", &admin).await;
    let honest = HandWorker::new(&app, "honest", &admin).await;
    let id = job(&app, &admin, 1).await;
    for _ in 0..2 {
        let (lease, _) = liar.claim().await.unwrap();
        liar.post(&format!("/leases/{lease}/return"), &json!({ "how": "fail", "reason": "so it is" })).await;
        assert!(liar.claim().await.is_none());
        app.clock.forward(31);
        assert!(liar.claim().await.is_none(), "a failure counts more than a release");
        app.clock.forward(LONGEST_S);
    }
    let (lease, _) = honest.claim().await.unwrap();
    assert_eq!(honest.result(&lease, &completed(0)).await.body["outcomes"][0]["outcome"], "new");
    assert_eq!(app.get(&format!("/verify/{id}"), &admin).await.body["progress"]["episodes_done"], 1);
}

#[tokio::test]
async fn a_shard_whose_results_cannot_be_audited_is_handed_back() {
    let (app, admin) = app().await;
    let worker = HandWorker::new(&app, "one", &admin).await;
    HandWorker::new(&app, "two", &admin).await;
    let id = job(&app, &admin, 1).await;
    *app.auditor.0.lock().unwrap() = Err("the jail does not start");
    let (lease, _) = worker.claim().await.unwrap();
    for _ in 0..2 {
        assert_eq!(worker.result(&lease, &completed(0)).await.status, 503);
    }
    let last = worker.result(&lease, &completed(0)).await;
    assert_eq!((last.status.as_u16(), &last.body["outcomes"][0]["outcome"]), (200, &json!("fenced")), "{}", last.body);
    assert!(worker.claim().await.is_none(), "it is another worker's turn");
    app.clock.forward(30);
    assert!(worker.claim().await.is_none(), "it is another worker's turn");
    let (now, lease) = (app.state.clock.now(), SignedDuration::from_secs(30));
    let next = app.state.records.claim_shard(&ShardRequest::new("lane"), now, lease).await.unwrap().unwrap();
    assert_eq!((next.fence.job_id.to_string(), next.failures), (id, 0));
}

#[tokio::test]
async fn a_result_that_is_sent_many_times_is_audited_once() {
    let (app, admin) = app().await;
    let worker = HandWorker::new(&app, "one", &admin).await;
    job(&app, &admin, 1).await;
    let (lease, _) = worker.claim().await.unwrap();
    let result = completed(0);
    let answers = futures_util::future::join_all((0..20).map(|_| worker.result(&lease, &result))).await;
    let is_new = |answer: &&crate::app::Answer| answer.body["outcomes"][0]["outcome"] == "new";
    assert_eq!(answers.iter().filter(is_new).count(), 1);
    assert_eq!(app.auditor.1.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn findings_of_the_server_are_no_notes_of_a_worker() {
    let (app, admin) = app().await;
    let worker = HandWorker::new(&app, "one", &admin).await;
    job(&app, &admin, 1).await;
    let (lease, _) = worker.claim().await.unwrap();
    for (reason, status) in [
        ("worker_quarantined", 400),
        ("machine_gone", 400),
        ("lease_expired", 400),
        ("unconfirmed", 400),
        ("lane_died", 204),
        ("outage", 204),
    ] {
        let note = json!({ "note": { "note": "replaced", "episode": 0, "reason": reason, "evidence": "e" } });
        assert_eq!(worker.post(&format!("/leases/{lease}/notes"), &note).await.status, status, "{reason}");
    }
}

#[tokio::test]
async fn evidence_without_results_is_bounded_over_all_claims_of_a_job() {
    let app = TestApp::with(ApiSettings { local_lanes: 0, max_evidence_bytes: 1000, ..ApiSettings::default() });
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::new(&app, "one", &admin).await;
    job(&app, &admin, 1).await;
    let mut stored = 0;
    for number in 0..6 {
        let (lease, _) = worker.claim().await.unwrap();
        let file = format!("{number:0600}");
        let path = format!("/leases/{lease}/evidence/{}", Sha256Digest::of(&file));
        let status = worker.send("PUT", &path, file).await.status;
        assert!(status == 204 || status == 413, "{status}");
        stored += u32::from(status == 204);
        worker.post(&format!("/leases/{lease}/return"), &json!({ "how": "release" })).await;
    }
    assert_eq!(stored, 3, "twice the space of the job");
}

#[tokio::test]
async fn limits_of_a_worker_outlive_the_server() {
    let settings = || ApiSettings { local_lanes: 0, max_evidence_bytes: 1000, ..ApiSettings::default() };
    let app = TestApp::with(settings());
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::new(&app, "one", &admin).await;
    HandWorker::new(&app, "two", &admin).await;
    job(&app, &admin, 1).await;
    let upload = async |worker: &HandWorker<'_>, lease: &str, number: u32| {
        let file = format!("{number:0600}");
        let path = format!("/leases/{lease}/evidence/{}", Sha256Digest::of(&file));
        worker.send("PUT", &path, file).await.status.as_u16()
    };
    let (lease, _) = worker.claim().await.unwrap();
    assert_eq!((upload(&worker, &lease, 1).await, upload(&worker, &lease, 2).await), (204, 204));
    assert_eq!(
        worker.post(&format!("/leases/{lease}/return"), &json!({ "how": "fail", "reason": "r" })).await.status,
        204
    );
    let kept = worker.identity();
    let TestApp { folder, router, state, .. } = app;
    drop((router, state));

    let app = TestApp::on(folder, settings());
    *app.auditor.0.lock().unwrap() = Ok(None);
    let worker = HandWorker::known(&app, kept);
    HandWorker::new(&app, "three", &admin).await;
    assert!(worker.claim().await.is_none(), "its failure counts still");
    app.clock.forward(LONGEST_S);
    let (lease, _) = worker.claim().await.unwrap();
    assert_eq!((upload(&worker, &lease, 3).await, upload(&worker, &lease, 4).await), (204, 413));
}

/// A body of a MiB that never comes.
struct StalledBody {
    is_read: Arc<AtomicBool>,
}

impl http_body::Body for StalledBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.is_read.store(true, Ordering::SeqCst);
        Poll::Pending
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(1 << 20)
    }
}

#[tokio::test]
async fn evidence_that_a_worker_sends_does_not_keep_the_account_from_uploading() {
    let account = AccountLimits { uploads: 1, ..AccountLimits::default() };
    let app = TestApp::with(ApiSettings { local_lanes: 0, account, ..ApiSettings::default() });
    let admin = app.key("ops", "read,verify,admin").await;
    let worker = HandWorker::new(&app, "slow", &admin).await;
    job(&app, &admin, 1).await;
    let (lease, _) = worker.claim().await.unwrap();
    let is_read = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let path = |number: usize| format!("/leases/{lease}/evidence/{}", Sha256Digest::of(number.to_string()));
    let send = async |number: usize| {
        let body = Body::new(StalledBody { is_read: Arc::clone(&is_read[number]) });
        worker.send("PUT", &path(number), body).await
    };
    let uploading = async {
        until("evidence", async || is_read.iter().all(|is_read| is_read.load(Ordering::SeqCst))).await;
        job(&app, &admin, 1).await
    };
    tokio::select! {
        answer = send(0) => panic!("{}", answer.body),
        answer = send(1) => panic!("{}", answer.body),
        _ = uploading => {}
    }
}

#[tokio::test]
async fn few_large_bodies_of_a_worker_are_read_at_a_time_and_small_ones_at_once() {
    let (app, admin) = app().await;
    let (liar, other) = (HandWorker::new(&app, "liar", &admin).await, HandWorker::new(&app, "other", &admin).await);
    let is_read = [(); 6].map(|()| Arc::new(AtomicBool::new(false)));
    let count = || is_read.iter().filter(|is_read| is_read.load(Ordering::SeqCst)).count();
    let send = |number: usize| {
        let body = Body::new(StalledBody { is_read: Arc::clone(&is_read[number]) });
        liar.send("POST", if number.is_multiple_of(2) { "/results" } else { "/beat" }, body)
    };
    let others = async {
        until("bodies", async || count() >= 4).await;
        for worker in [&liar, &other] {
            assert_eq!(worker.post("/beat", &json!({ "leases": [], "progress": [] })).await.status, 200);
        }
        let large = format!("{{\"results\":[]{}}}", " ".repeat(1 << 20));
        assert_eq!(other.send("POST", "/results", large).await.status, 200);
    };
    tokio::select! {
        _ = futures_util::future::join_all((0..6).map(send)) => panic!("they never end"),
        () = others => {}
    }
    assert_eq!(count(), 4);
}
