//! Requests that a worker is not entitled to, bodies that violate the protocol, and a server that lies to its worker.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_model::{JobStatus, Sha256Digest};
use assay_store::Blobs;
use assay_testkit::{ProtocolWorker, TamperingProxy, example, wait_for, zip_folder};
use serde_json::{Value, json};

use super::fixture::{HonestRun, POLE, lanes_elsewhere, publish_pole, submit, worker_row};
use crate::serve::{CARTPOLE, JOB_LIMIT, assay};

/// Longest JSON body that the server reads, in bytes.
const MAX_JSON_BYTES: usize = 8 << 20;

#[test]
fn a_lease_serves_its_worker_its_job_and_its_registration_only() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0"]);
    let run = HonestRun::of("reference");
    let id = submit(&client, "reference", "1");
    let owner = run.impostor(&assay, &server, "owner");
    let thief = run.impostor(&assay, &server, "thief");
    let (lease, shard) = owner.claim(10).unwrap();
    assert_eq!(shard["fence"]["job_id"], id.as_str());
    let result = &run.results[0];

    // Another worker, and an altered lease.
    let note = json!({ "note": { "note": "replaced", "episode": 0, "reason": "lane_died", "evidence": "x" } });
    let mut altered = lease.clone();
    let last = if altered.pop() == Some('0') { '1' } else { '0' };
    altered.push(last);
    for (worker, lease) in [(&thief, &lease), (&owner, &altered), (&owner, &"x".to_owned())] {
        let in_path = ["policy", "scenario", "server"].map(|input| worker.get(&format!("/leases/{lease}/{input}")));
        let noted = worker.post(&format!("/leases/{lease}/notes"), &note);
        let returned = worker.post(&format!("/leases/{lease}/return"), &json!({ "how": "release" }));
        let reported = worker.report(lease, result);
        let renewed = worker.post("/beat", &json!({ "leases": [lease], "progress": [] }));
        let answers = in_path.into_iter().chain([noted, returned, reported, renewed, worker.upload(lease, b"x")]);
        answers.for_each(|answer| assert_eq!(answer.status, 403, "{}", answer.body));
    }
    // Inputs that the job does not have.
    let other = Sha256Digest::of("other");
    for path in [format!("models/{other}"), format!("scenario/{other}"), "server".to_owned(), "scenario/..".to_owned()]
    {
        assert_eq!(owner.get(&format!("/leases/{lease}/{path}")).status, 404, "{path}");
    }
    // Another episode, evidence that was never stored, or only for another job, and a file under a wrong name.
    let mut outside = result.clone();
    outside["episode"] = 7.into();
    assert_eq!(owner.report(&lease, &outside).body["outcomes"][0]["outcome"], "fenced");
    let foreign = json!({ "note": { "note": "replaced", "episode": 7, "reason": "lane_died", "evidence": "x" } });
    assert_eq!(owner.post(&format!("/leases/{lease}/notes"), &foreign).status, 400);
    let missing = owner.report(&lease, result);
    assert!(missing.status == 422 && missing.body["error"]["message"].as_str().unwrap().contains("was not stored"));
    assert_eq!(owner.upload_as(&lease, other, b"x").status, 422);
    let (trace, form) = packed_trace(&run);
    for (sha256, form) in [(other, &form[..]), (trace, &form[1..]), (trace, b"x"), (trace, b"")] {
        assert_eq!(owner.upload_packed(&lease, sha256, form).status, 422);
    }
    assert_eq!(worker_row(&client, "owner")["state"], "ACTIVE", "a mistake is no lie");

    // The leases of an earlier process are void, and so is its registration.
    let token = assay.worker_token(&assay.path("data"), "twice");
    let before = ProtocolWorker::register(server.address(), &token, &run.registration);
    assert_eq!(owner.post(&format!("/leases/{lease}/return"), &json!({ "how": "release" })).status, 204);
    let (stale, _) = before.claim(10).unwrap();
    let after = ProtocolWorker::register(server.address(), &token, &run.registration);
    assert_eq!(before.report(&stale, result).status, 409);
    assert_eq!(after.report(&stale, result).status, 403);
    assert_eq!(owner.upload(&lease, b"x").status, 409, "it was given back");
    assert_eq!(owner.report(&lease, result).body["outcomes"][0]["outcome"], "fenced");

    // A result counts once. Its evidence may be packed.
    let (lease, shard) = after.claim(10).unwrap();
    assert_eq!(shard["fence"]["attempt"], 3);
    assert_eq!(after.upload_packed(&lease, trace, &form).status, 204);
    run.store(&after, &lease, result);
    let mut result = result.clone();
    let replaced = shard["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| json!({ "episode": 0, "reason": note["reason"], "evidence": note["evidence"] }));
    result["replaced_attempts"] = replaced.collect();
    let outcomes = [0, 1].map(|_| after.report(&lease, &result).body["outcomes"][0]["outcome"].clone());
    assert_eq!(outcomes, [json!("new"), json!("duplicate")]);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.episode_details.len()), (JobStatus::Completed, 1));
}

/// Returns the SHA-256 of a trace, and its packed form.
fn packed_trace(run: &HonestRun) -> (Sha256Digest, Vec<u8>) {
    let (trace, file) = (run.file(0, "trace.parquet"), tempfile::NamedTempFile::new().unwrap());
    fs::write(file.path(), trace).unwrap();
    (Sha256Digest::of(trace), Blobs::packed_form(file.path()).unwrap().unwrap())
}

#[test]
fn bodies_that_are_not_of_the_protocol_are_refused() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["server.max_evidence_mib=16"]);
    let run = HonestRun::of("reference");
    let worker = run.impostor(&assay, &server, "clumsy");
    submit(&client, "reference", "1");
    let (lease, shard) = worker.claim(10).unwrap();
    let malformed =
        ["", "{", "[]", "null", "{\"results\":{}}", "{\"leases\":[1],\"progress\":[]}", "{\"wanted\":\"all\"}"];
    for path in [
        "/results",
        "/beat",
        "/claim",
        "/register",
        &format!("/leases/{lease}/notes"),
        &format!("/leases/{lease}/return"),
    ] {
        for body in malformed {
            assert_eq!(worker.post_text(path, body).status, 400, "{path}: {body:?}");
        }
        let huge = format!("\"{}\"", "x".repeat(MAX_JSON_BYTES));
        assert_eq!(worker.post_text(path, &huge).status, 413, "{path}");
    }
    let leases: Vec<&str> = std::iter::repeat_n(lease.as_str(), 5000).collect();
    assert_eq!(worker.post("/beat", &json!({ "leases": leases, "progress": [] })).status, 400);
    let results: Vec<Value> = std::iter::repeat_n(json!({ "lease": lease, "result": run.results[0] }), 17).collect();
    assert_eq!(worker.post("/results", &json!({ "results": results })).status, 400);
    let share = usize::try_from(shard["max_episode_bytes"].as_u64().unwrap()).unwrap();
    let large = worker.upload(&lease, &vec![0; 2 * share + 1]);
    assert!(large.status == 413, "{}", large.body);
    let mut older = run.registration.clone();
    older["protocol"] = 0.into();
    let refused = worker.post("/register", &older);
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(refused.status == 409 && message.contains("install the same release"), "{message}");
    assert_eq!(worker_row(&client, "clumsy")["state"], "ACTIVE");
}

/// A liar changes a result on its way: the real worker behind it learns that it is quarantined, and ends.
#[test]
fn a_quarantined_worker_ends_with_the_reason() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &[]);
    let proxy = TamperingProxy::start(server.address(), |request| {
        if request.path.ends_with("/results") {
            let mut body: Value = serde_json::from_slice(&request.body).unwrap();
            body["results"][0]["result"]["violations"] = json!([]);
            body["results"][0]["result"]["clauses"][0]["status"] = "satisfied".into();
            request.body = body.to_string().into_bytes();
        }
        None
    });
    let token = assay.worker_token(&assay.path("data"), "liar");
    let liar = assay.work(proxy.address(), ("liar", &token), &[]);
    let id = submit(&client, "reckless", "1");
    let run = liar.wait(JOB_LIMIT);
    let last = run.stderr.lines().last().unwrap_or_default();
    assert!(run.code == 2 && last.contains("quarantine"), "{}", run.stderr);
    let row = worker_row(&client, "liar");
    assert!(row["reason"].as_str().unwrap().contains(&format!("episode 0 of job {id}")), "{row}");
    let listed = assay.run(&["workers", "list", "--data", assay.path("data").to_str().unwrap()]);
    assert!(listed.stdout.contains("liar: quarantined: episode 0 of job"), "{}", listed.stdout);
    assert_eq!(client.job(&id).status, JobStatus::Running, "it waits for another worker");
}

#[test]
fn a_worker_writes_nothing_outside_of_its_cache_whatever_its_server_lists() {
    let assay = assay();
    let _ = publish_pole(&assay);
    let (server, client) = lanes_elsewhere(&assay, &[]);
    let asked = Arc::new(AtomicBool::new(false));
    let (was_asked, outside) = (Arc::clone(&asked), assay.path("outside"));
    let path = format!("scenario/../../../../../../../../../..{}", outside.display());
    let proxy = TamperingProxy::start(server.address(), move |request| {
        request.path.ends_with("/scenario").then(|| {
            was_asked.store(true, Ordering::SeqCst);
            let sha256 = Sha256Digest::of("x");
            json!({ "files": [{ "path": path, "sha256": sha256, "size_bytes": 1 }] }).to_string().into_bytes()
        })
    });
    let token = assay.worker_token(&assay.path("data"), "careful");
    let worker = assay.work(proxy.address(), ("careful", &token), &[]);
    // The worker has the built-in scenarios, but not this one.
    let parts = [("scenario", POLE), ("num_episodes", "1"), ("record", "none")];
    let id = client.verify(&zip_folder(&example(CARTPOLE, "reference")), &parts);
    wait_for("a listing", JOB_LIMIT, || asked.load(Ordering::SeqCst).then_some(()));
    wait_for("a refusal", JOB_LIMIT, || worker.stderr().contains("the server sent a file other than").then_some(()));
    assert!(!outside.exists());
    assert_ne!(client.job(&id).status, JobStatus::Completed);
}
