//! Results that do not follow from their evidence: each is refused, and its worker is quarantined.

use assay_model::{JobStatus, Verdict};
use assay_testkit::wait_for;
use serde_json::{Value, json};

use super::fixture::{HonestRun, lanes_elsewhere, replace_file, submit, worker_row};
use crate::serve::{JOB_LIMIT, assay};

/// A change of an honest result, and words of the reason for the worker's quarantine.
type Lie = (fn(&mut Value), &'static str);

/// The recorded policy leaves its zone twice. No physics need to run to find these.
const LIES: [Lie; 23] = [
    (|result| result["success"] = true.into(), "its success"),
    (|result| result["safety_score"] = 0.99.into(), "its safety score"),
    (|result| result["composite_score"] = 0.99.into(), "its composite score"),
    (|result| result["progress_score"] = 0.5.into(), "its progress score"),
    (|result| result["clauses"][0]["status"] = "satisfied".into(), "the list of clauses"),
    (|result| result["clauses"][2]["robustness"] = 1.25.into(), "the list of clauses"),
    (|result| drop(result["clauses"].as_array_mut().unwrap().pop()), "has 2 clauses, not 3"),
    (|result| result["violations"] = json!([]), "the list of violations"),
    (|result| result["violations"][0]["start_s"] = 2.5.into(), "the list of violations"),
    (|result| result["stages"][0]["passed"] = false.into(), "the list of stages"),
    (|result| result["unsafe_time_s"] = 0.0.into(), "its unsafe time"),
    (|result| result["sim_time_s"] = 9.0.into(), "its simulated time"),
    (|result| result["steps"] = 499.into(), "500 control steps, the result 499"),
    (|result| result["trace_hash"] = "ab".repeat(32).into(), "its trace hash"),
    (|result| result["seed"] = 1.into(), "seed 1"),
    (|result| result["termination"] = "success".into(), "does not end in the way"),
    (policy_error, "does not end in the way"),
    (without_evidence, "it has no trace"),
    (|result| result["evidence"][0]["name"] = "episodes/000/../001/actions.npy".into(), "not a file of its evidence"),
    (|result| result["evidence"][0]["name"] = "episodes/001/actions.npy".into(), "not a file of its evidence"),
    (|result| drop(result["evidence"].as_array_mut().unwrap().remove(0)), "its list of evidence"),
    (|result| result["evidence"][0]["size_bytes"] = 1.into(), "has another size"),
    (|result| result["log_url"] = "episodes/001/trace.parquet".into(), "its list of evidence"),
];

/// Blames the policy for a whole episode.
fn policy_error(result: &mut Value) {
    (result["status"], result["termination"]) = ("policy_error".into(), "policy_error".into());
    result["error"] = json!({ "code": "exception", "message": "ValueError", "log_tail": "" });
}

fn without_evidence(result: &mut Value) {
    (result["evidence"], result["log_url"], result["log_type"]) = (json!([]), Value::Null, Value::Null);
}

#[test]
fn a_result_that_does_not_follow_from_its_trace_is_refused_and_its_worker_quarantined() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reckless");
    let id = submit(&client, "reckless", "1");
    for (number, (change, words)) in LIES.iter().enumerate() {
        let name = format!("liar-{number}");
        let liar = run.impostor(&assay, &server, &name);
        let (lease, assignment) = liar.claim(10).unwrap_or_else(|| panic!("{name} gets no shard"));
        assert_eq!(assignment["episodes"][0]["episode"], 0);
        let mut result = run.results[0].clone();
        change(&mut result);
        run.store(&liar, &lease, &run.results[0]);
        let answer = liar.report(&lease, &result);
        let message = answer.body["error"]["message"].as_str().unwrap_or_default();
        assert!(
            answer.status == 403 && message.contains("quarantined") && message.contains(words),
            "{name}: {}",
            answer.body
        );
        let row = worker_row(&client, &name);
        assert_eq!((&row["state"], &row["shards"]), (&json!("QUARANTINED"), &json!(0)));
        assert!(row["reason"].as_str().unwrap().contains(words), "{name}: {row}");
        assert_eq!(liar.report(&lease, &run.results[0]).status, 401, "the truth comes too late");
    }
    // The job is unharmed, and an honest worker completes it.
    assert_eq!(client.job(&id).progress.episodes_done, 0);
    let honest = run.impostor(&assay, &server, "honest");
    let (lease, assignment) = honest.claim(10).unwrap();
    run.store(&honest, &lease, &run.results[0]);
    let mut result = run.results[0].clone();
    result["replaced_attempts"] = replaced(&assignment);
    let answer = honest.report(&lease, &result);
    assert_eq!(answer.body["outcomes"][0]["outcome"], "new", "{}", answer.body);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Unsafe)));
}

/// Returns the replaced attempts in the notes of an assignment.
fn replaced(assignment: &Value) -> Value {
    let notes = assignment["notes"].as_array().into_iter().flatten().filter(|note| note["note"] == "replaced");
    let attempts = notes.cloned().map(|mut note| {
        note.as_object_mut().unwrap().remove("note");
        note
    });
    attempts.collect()
}

#[test]
fn another_trace_or_a_damaged_one_is_refused() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reference");
    let (own, other) = (run.file(0, "trace.parquet"), run.file(1, "trace.parquet"));
    let mut flipped = own.to_vec();
    let end = flipped.len();
    flipped[end - 200..end - 100].iter_mut().for_each(|byte| *byte ^= 0x55);
    let traces = [
        ("of another episode", other.to_vec(), "of another episode: episode 1"),
        ("cut", own[..own.len() / 2].to_vec(), "can't be read"),
        ("empty", Vec::new(), "can't be read"),
        ("flipped", flipped, "can't be read"),
        ("no Parquet", run.file(0, "model.mjb").to_vec(), "can't be read"),
    ];
    submit(&client, "reference", "1");
    for (number, (what, trace, words)) in traces.iter().enumerate() {
        let name = format!("liar-{number}");
        let liar = run.impostor(&assay, &server, &name);
        let (lease, _) = liar.claim(10).unwrap();
        let mut result = run.results[0].clone();
        replace_file(&mut result, "trace.parquet", trace);
        run.store(&liar, &lease, &result);
        assert_eq!(liar.upload(&lease, trace).status, 204, "{what}");
        let answer = liar.report(&lease, &result);
        let message = answer.body["error"]["message"].as_str().unwrap_or_default();
        assert!(answer.status == 403 && message.contains(words), "{what}: {}", answer.body);
    }
    // The results of an unfinished job are discarded if their worker lies later.
    let id = submit(&client, "reference", "2");
    let liar = run.impostor(&assay, &server, "late");
    let leases = [0, 1].map(|_| liar.claim(10).unwrap());
    let mut mine = leases.iter().filter(|(_, shard)| shard["fence"]["job_id"] == id.as_str());
    let (lease, shard) = mine.next_back().unwrap();
    let episode = usize::try_from(shard["episodes"][0]["episode"].as_u64().unwrap()).unwrap();
    run.store(&liar, lease, &run.results[episode]);
    let recorded = liar.report(lease, &run.results[episode]);
    assert_eq!(recorded.body["outcomes"][0]["outcome"], "new", "{}", recorded.body);
    assert_eq!(client.job(&id).progress.episodes_done, 1);
    let (lease, shard) = leases.iter().find(|(other, _)| other != lease).unwrap();
    let episode = usize::try_from(shard["episodes"][0]["episode"].as_u64().unwrap()).unwrap();
    run.store(&liar, lease, &run.results[episode]);
    let mut result = run.results[episode].clone();
    result["success"] = (!result["success"].as_bool().unwrap()).into();
    assert_eq!(liar.report(lease, &result).status, 403);
    wait_for("discarded results", JOB_LIMIT, || (client.job(&id).progress.episodes_done == 0).then_some(()));
}
