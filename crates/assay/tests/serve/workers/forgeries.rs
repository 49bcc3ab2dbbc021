//! Traces that are consistent in themselves, but not with the physics. A recomputation cannot see them; running the
//! physics again does.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_model::{JobStatus, Verdict};
use assay_testkit::{Answer, Assay, Server, home};
use serde_json::{Value, json};

use super::fixture::{HonestRun, lanes_elsewhere, replace_file, submit, worker_row};
use crate::serve::{JOB_LIMIT, assay, serve};

/// Kinds of forgery of `forge_trace.py`, and words of the reason for the quarantine.
const FORGERIES: [(&str, &str); 4] =
    [("action", "control step 5: ctrl.0"), ("signal", "signal.cart_position"), ("state", "qpos.0"), ("world", "qpos")];

/// Forges the result of the run's first episode: its trace, and whatever follows from that.
fn forge(assay: &Assay, run: &HonestRun, kind: &str) -> (Value, Vec<u8>) {
    let mut result = run.results[0].clone();
    let from = if kind == "world" { 1 } else { 0 };
    for name in ["trace.parquet", "model.mjb", "state.bin"] {
        assay.write(&format!("{kind}/{name}"), run.file(from, name));
    }
    let folder = assay.path(kind);
    assay.write(&format!("{kind}/own.parquet"), run.file(0, "trace.parquet"));
    let printed = python(&[folder.to_str().unwrap(), kind]);
    if kind == "world" {
        result = run.results[1].clone();
        (result["episode"], result["seed"]) = (run.results[0]["episode"].clone(), run.results[0]["seed"].clone());
        result["evidence"] = run.results[0]["evidence"].clone();
        result["log_url"] = run.results[0]["log_url"].clone();
    }
    if kind == "unstable" {
        (result["status"], result["termination"], result["steps"]) = ("invalid".into(), "unstable".into(), 100.into());
        result["error"] = json!({ "code": "unstable", "message": "the physics became unstable", "log_tail": "" });
    }
    result["trace_hash"] = printed.trim().into();
    let trace = fs::read(folder.join("trace.parquet")).unwrap();
    replace_file(&mut result, "trace.parquet", &trace);
    (result, trace)
}

fn python(arguments: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/workers/forge_trace.py");
    let mut python = Command::new(home().join("vendor/dev-venv/bin/python"));
    let output = python.args(["-B", "-s"]).arg(script).args(arguments).env_remove("GLIBC_TUNABLES").output();
    let output = output.expect("vendor/dev-venv is made by tools/setup --dev");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_trace_that_the_physics_do_not_produce_is_found_by_running_them_again() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=1"]);
    let run = HonestRun::of("reference");
    submit(&client, "reference", "1");
    for (kind, words) in FORGERIES {
        let liar = run.impostor(&assay, &server, kind);
        let (lease, _) = liar.claim(10).unwrap_or_else(|| panic!("{kind}: no shard"));
        let (result, trace) = forge(&assay, &run, kind);
        run.store(&liar, &lease, &result);
        assert_eq!(liar.upload(&lease, &trace).status, 204);
        let answer = liar.report(&lease, &result);
        let message = answer.body["error"]["message"].as_str().unwrap_or_default();
        assert!(answer.status == 403 && message.contains("its physics differ"), "{kind}: {}", answer.body);
        assert!(message.contains(words), "{kind}: {message}");
        assert_eq!(worker_row(&client, kind)["state"], "QUARANTINED");
    }
}

/// Reports a forged episode of the queued job.
fn reported(assay: &Assay, server: &Server, run: &HonestRun, kind: &str) -> Answer {
    let liar = run.impostor(assay, server, kind);
    let (lease, _) = liar.claim(10).unwrap_or_else(|| panic!("{kind}: no shard"));
    let (result, trace) = forge(assay, run, kind);
    run.store(&liar, &lease, &result);
    assert_eq!(liar.upload(&lease, &trace).status, 204);
    liar.report(&lease, &result)
}

#[test]
fn most_forgeries_are_found_without_all_of_the_physics() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reference");
    submit(&client, "reference", "1");
    let found = [
        ("action", "its actions.npy is not that of its trace"),
        ("world", "its physics differ"),
        ("unstable", "the physics do not become unstable where its trace ends"),
    ];
    for (kind, words) in found {
        let answer = reported(&assay, &server, &run, kind);
        let message = answer.body["error"]["message"].as_str().unwrap_or_default();
        assert!(answer.status == 403 && message.contains(words), "{kind}: {}", answer.body);
    }
}

/// Shows that only the physics give these traces away, as the documentation says.
#[test]
fn a_consistent_trace_is_believed_if_the_physics_never_run_again() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reference");
    for kind in ["signal", "state"] {
        let id = submit(&client, "reference", "1");
        let answer = reported(&assay, &server, &run, kind);
        assert_eq!(answer.body["outcomes"][0]["outcome"], "new", "{kind}: {}", answer.body);
        let job = client.ended_job(&id, JOB_LIMIT);
        assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{kind}");
    }
}

/// Shows a limit that the documentation names: the trace of another policy in the same world. A replay finds it.
#[test]
fn an_episode_of_another_policy_is_believed_until_it_is_replayed() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=1"]);
    let run = HonestRun::of("reference");
    let id = submit(&client, "reckless", "1");
    let liar = run.impostor(&assay, &server, "liar");
    let (lease, _) = liar.claim(10).unwrap();
    run.store(&liar, &lease, &run.results[0]);
    let answer = liar.report(&lease, &run.results[0]);
    assert_eq!(answer.body["outcomes"][0]["outcome"], "new", "{}", answer.body);
    assert_eq!(client.ended_job(&id, JOB_LIMIT).verdict, Some(Verdict::Safe), "the reckless policy");
    drop(server);
    let (_server, client) = serve(&assay);
    let replayed = client.post_json(&format!("/verify/{id}/replay"), &json!({ "episode": 0 }));
    assert_eq!((replayed.status, &replayed.body["same"]), (200, &json!(false)), "{}", replayed.body);
}
