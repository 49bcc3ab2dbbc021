//! Facts that no trace shows: one worker's word makes no job UNSAFE, and blames no policy.

use assay_model::{Blame, JobStatus, ReplacementReason, ReviewReason, Verdict};
use assay_testkit::{Assay, ProtocolWorker, Server};
use serde_json::{Value, json};

use super::fixture::{HonestRun, lanes_elsewhere, submit, worker_row};
use crate::serve::{JOB_LIMIT, assay};

/// A result of an episode whose policy is said to have failed at once.
fn failure(run: &HonestRun) -> Value {
    let mut result = run.results[0].clone();
    for (field, value) in [
        ("status", json!("policy_error")),
        ("termination", json!("policy_error")),
        ("success", json!(false)),
        ("steps", json!(0)),
        ("sim_time_s", json!(0.0)),
        ("unsafe_time_s", json!(0.0)),
        ("progress_score", json!(0.0)),
        ("safety_score", json!(0.0)),
        ("composite_score", json!(0.0)),
        ("violations", json!([])),
        ("evidence", json!([])),
        ("log_url", Value::Null),
        ("log_type", Value::Null),
        ("trace_hash", Value::Null),
        ("error", json!({ "code": "exception", "message": "ValueError", "log_tail": "" })),
    ] {
        result[field] = value;
    }
    for stage in result["stages"].as_array_mut().unwrap() {
        (stage["passed"], stage["time_s"]) = (false.into(), Value::Null);
    }
    for clause in result["clauses"].as_array_mut().unwrap() {
        (clause["status"], clause["vacuous"], clause["violation_count"]) =
            ("undetermined".into(), false.into(), 0.into());
        for field in ["robustness", "worst_value", "worst_time_s"] {
            clause[field] = Value::Null;
        }
    }
    result
}

/// An invented note about a violation of a critical clause.
fn violation() -> Value {
    json!({ "note": { "note": "violated", "episode": 0, "violation": {
        "clause": "keep_in", "level": "critical", "start_s": 1.0, "end_s": 1.002, "value": 9.0, "limit": 1.0, "unit": "m",
        "robustness": -6.6, "involved": [],
    } } })
}

/// Registers an honest worker that sends what was recorded, and reports episode 0.
#[track_caller]
fn report_honestly(assay: &Assay, server: &Server, run: &HonestRun) {
    let honest = run.impostor(assay, server, "honest");
    let (lease, assignment) = honest.claim(10).unwrap();
    run.store(&honest, &lease, &run.results[0]);
    let result = upheld(run.results[0].clone(), &assignment);
    let answer = honest.report(&lease, &result);
    assert_eq!(answer.body["outcomes"][0]["outcome"], "new", "{}", answer.body);
}

/// Returns the result as an honest worker sends it that was told of violations of earlier attempts.
fn upheld(result: Value, assignment: &Value) -> Value {
    let notes = serde_json::from_value::<Vec<assay_model::AttemptNote>>(assignment["notes"].clone()).unwrap();
    let result: assay_model::EpisodeResult = serde_json::from_value(result).unwrap();
    let scales: Vec<f64> = result.clauses.iter().map(|clause| clause.scale.unwrap()).collect();
    let weights = vec![1.0; scales.len()];
    serde_json::to_value(result.with_notes(&notes, &weights, &scales)).unwrap()
}

#[test]
fn an_invented_failure_is_run_elsewhere_and_forgotten() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reference");
    let liar = run.impostor(&assay, &server, "liar");
    let other = run.impostor(&assay, &server, "other");
    let id = submit(&client, "reference", "1");
    let (lease, _) = liar.claim(10).unwrap();
    let answer = liar.report(&lease, &failure(&run));
    assert_eq!(answer.body["outcomes"][0]["outcome"], "fenced", "{}", answer.body);
    assert!(liar.claim(0).is_none(), "it confirms itself");
    drop(other);
    // A real worker runs it.
    let token = assay.worker_token(&assay.path("data"), "real");
    let _worker = assay.work(server.address(), ("real", &token), &[]);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.reason);
    let [replaced] = job.replaced_attempts.as_slice() else { panic!("{:?}", job.replaced_attempts) };
    assert_eq!(replaced.reason, ReplacementReason::Unconfirmed);
    assert!(replaced.evidence.contains("worker liar alone"), "{replaced:?}");
    assert_eq!(worker_row(&client, "liar")["state"], "ACTIVE", "policies may be nondeterministic");
}

#[test]
fn a_failure_that_two_workers_report_is_the_policys() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reference");
    let [one, two] = ["one", "two"].map(|name| run.impostor(&assay, &server, name));
    let id = submit(&client, "reference", "1");
    for (worker, outcome) in [(&one, "fenced"), (&two, "new")] {
        let (lease, _) = worker.claim(10).unwrap();
        let answer = worker.report(&lease, &failure(&run));
        assert_eq!(answer.body["outcomes"][0]["outcome"], outcome, "{}", answer.body);
    }
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.verdict, job.blame), (Some(Verdict::Inconclusive), Some(Blame::Policy)), "{:?}", job.reason);
}

#[test]
fn without_a_second_worker_a_failure_makes_the_verdict_inconclusive_and_unconfirmed() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reference");
    let token = assay.worker_token(&assay.path("data"), "alone");
    let alone = ProtocolWorker::register(server.address(), &token, &run.registration);
    let id = submit(&client, "reference", "1");
    let (lease, _) = alone.claim(10).unwrap();
    let answer = alone.report(&lease, &failure(&run));
    assert_eq!(answer.body["outcomes"][0]["outcome"], "new", "{}", answer.body);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.verdict, job.blame), (Some(Verdict::Inconclusive), None), "{:?}", job.reason);
    assert!(job.review_reasons.contains(&ReviewReason::Unconfirmed), "{:?}", job.review_reasons);
    assert!(job.reason.as_ref().unwrap().contains("worker alone alone reported"));
}

#[test]
fn an_invented_violation_of_an_earlier_attempt_stands_without_making_a_job_unsafe() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=1"]);
    let run = HonestRun::of("reference");
    let liar = run.impostor(&assay, &server, "liar");
    let id = submit(&client, "reference", "1");
    let (lease, _) = liar.claim(10).unwrap();
    assert_eq!(liar.post(&format!("/leases/{lease}/notes"), &violation()).status, 204);
    assert_eq!(liar.post(&format!("/leases/{lease}/return"), &json!({ "how": "release" })).status, 204);
    report_honestly(&assay, &server, &run);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.verdict, job.blame), (Some(Verdict::Inconclusive), None), "{:?}", job.reason);
    assert!(job.review_reasons.contains(&ReviewReason::Unconfirmed), "{:?}", job.review_reasons);
    let episode = &job.episode_details[0];
    assert!(episode.unconfirmed[0].contains("worker liar reported a violation of clause keep_in"), "{episode:?}");
    assert_eq!(episode.safety_score, run.results[0]["safety_score"].as_f64().unwrap(), "that of its trace");
}

#[test]
fn a_violation_that_the_trace_of_its_own_attempt_does_not_show_is_a_lie() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reference");
    submit(&client, "reference", "1");
    let liar = run.impostor(&assay, &server, "liar");
    let (lease, assignment) = liar.claim(10).unwrap();
    assert_eq!(liar.post(&format!("/leases/{lease}/notes"), &violation()).status, 204);
    run.store(&liar, &lease, &run.results[0]);
    let mut notes = assignment;
    notes["notes"] = json!([violation()["note"]]);
    let answer = liar.report(&lease, &upheld(run.results[0].clone(), &notes));
    let message = answer.body["error"]["message"].as_str().unwrap_or_default();
    assert!(answer.status == 403 && message.contains("its trace does not show"), "{}", answer.body);
    assert_eq!(worker_row(&client, "liar")["state"], "QUARANTINED");
}
