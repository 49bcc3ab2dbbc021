//! After the verdict: statement, review and replay, from the view of a client and an auditor.

use std::fs;
use std::sync::mpsc;
use std::thread;

use assay_model::Verdict;
use assay_testkit::{Account, Client, archive, example, zip_folder};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, replay, serve, shared_server};

/// Runs a job without videos to its end. Returns its id.
fn completed(client: &Client, zip: &[u8], episodes: &str) -> String {
    // Not the key of its seed: replays have to take the report's.
    let key = "5e".repeat(32);
    let parts = [("scenario", CARTPOLE), ("num_episodes", episodes), ("record", "none"), ("policy_key", &key)];
    let id = client.verify(zip, &parts);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert!(job.verdict.is_some(), "{:?}", job.error_message);
    id
}

#[test]
fn an_auditor_checks_a_jobs_statement_without_the_server() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let zip = zip_folder(&example(CARTPOLE, "reckless"));
    let id = completed(&client, &zip, "1");
    let job = client.job(&id);
    let folder = assay.path("audit");
    fs::create_dir_all(folder.join("episodes/000")).unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    write("report.intoto.json", client.get(job.url("/attestation_url").unwrap()).text.as_bytes());
    write("report.json", client.get(&format!("/verify/{id}/report.json")).text.as_bytes());
    write("keys.json", client.get("/.well-known/assay-keys.json").text.as_bytes());
    write("policy.zip", &zip);
    for file in &job.episode_details[0].evidence {
        write(&file.name, &client.download(job.evidence_url(file).unwrap()));
    }
    drop(server);
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (statement, policy, keys) = (path("report.intoto.json"), path("policy.zip"), path("keys.json"));
    let arguments = ["attest", "verify", &statement, "--policy", &policy, "--keys", &keys];
    let checked = assay.run(&arguments);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    assert!(checked.stdout.contains("UNSAFE"), "{}", checked.stdout);

    let replayed = assay.run(&["replay", &path("report.json"), "--policy", &policy]);
    assert_eq!(replayed.code, 0, "{}{}", replayed.stdout, replayed.stderr);
    write("report.json", b"{}");
    assert_eq!(assay.run(&arguments).code, 1, "another report");
}

#[test]
fn a_nondeterministic_policy_is_detected_and_reported() {
    let (_server, Account { client, .. }) = shared_server("default");
    let steady = completed(&client, &zip_folder(&example(CARTPOLE, "reference")), "2");
    let answer = replay(&client, &format!("/verify/{steady}/replay"), &json!({ "episode": 1 }));
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!((&answer.body["same"], &answer.body["difference"]), (&json!(true), &Value::Null));
    let recorded = client.job(&steady).episode_details[1].trace_hash;
    assert_eq!(answer.body["replayed_trace_hash"], json!(recorded));

    let dice: &[u8] = b"import os\n\ndef policy(observation):\n    return [os.urandom(1)[0] / 128 - 1]\n";
    let random = completed(&client, &archive(&[("policy.py", dice)]), "1");
    let before = client.job(&random);
    let answer = replay(&client, &format!("/verify/{random}/replay"), &json!({}));
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["same"], json!(false));
    let difference = &answer.body["difference"];
    assert_eq!((&difference["cause"], &difference["quantity"]), (&json!("policy"), &json!("action.0")), "{difference}");
    assert_eq!(client.job(&random).verdict, before.verdict, "what was measured stays");
}

#[test]
fn one_replay_runs_at_a_time_and_ends_with_the_server() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let slow: &[u8] = b"import time\n\ndef policy(observation):\n    time.sleep(0.02)\n    return [0]\n";
    let id = completed(&client, &archive(&[("policy.py", slow)]), "1");
    let (send, receive) = mpsc::channel();
    for _ in 0..2 {
        let (client, send, path) = (client.clone(), send.clone(), format!("/verify/{id}/replay"));
        thread::spawn(move || send.send(client.try_post(&path)));
    }
    // An episode takes 10 s, so the one that is refused is the first to be answered.
    let busy = receive.recv().unwrap().unwrap();
    assert_eq!(busy.status, 503, "{}", busy.body);
    assert!(busy.body["error"]["message"].as_str().unwrap().contains("another replay"), "{}", busy.body);
    let stopped = server.stop(Signal::TERM, STOP_LIMIT);
    assert_eq!(stopped.code, 0, "{}", stopped.stderr);
    assay.assert_clean();
}

#[test]
fn a_review_changes_nothing_that_was_signed() {
    let (server, _) = shared_server("default");
    let Account { client, .. } = server.account(&["read", "verify", "review"]);
    let id = completed(&client, &zip_folder(&example(CARTPOLE, "reckless")), "1");
    let signed = client.get(&format!("/verify/{id}/report.json")).text;
    let wish = json!({ "decision": "accepted", "reason": "The clause is stricter than our cell needs." });
    let answer = client.post_json(&format!("/verify/{id}/review"), &wish);
    assert_eq!((answer.status, &answer.body["review"]["decision"]), (200, &json!("accepted")), "{}", answer.body);
    assert_eq!(client.job(&id).verdict, Some(Verdict::Unsafe));
    assert_eq!(client.get(&format!("/verify/{id}/report.json")).text, signed);
}
