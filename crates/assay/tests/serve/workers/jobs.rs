//! Jobs whose episodes run on a worker: the same results as on the server's own lanes.

use std::fs;
use std::path::Path;

use assay_model::{JobReport, JobStatus, Verdict};
use assay_testkit::{PythonServer, archive, example, wait_for, zip_folder};
use serde_json::json;

use super::fixture::{POLE, lanes_elsewhere, publish_pole, submit, worker_row};
use crate::serve::{CARTPOLE, JOB_LIMIT, assay, serve};

/// Policies that fail in ways that leave few or no control steps, or end a step early.
const FAILING: [(&str, &str); 6] = [
    ("import", "raise RuntimeError('x')\n"),
    ("first action", "def policy(observation):\n    raise RuntimeError('x')\n"),
    ("no number", "def policy(observation):\n    return [float('nan')]\n"),
    ("half way", "def policy(observation):\n    return [0.0] if observation['time'] < 3 else [float('nan')]\n"),
    ("exit", "import os\n\ndef policy(observation):\n    return [12.0] if observation['time'] < 4 else os._exit(1)\n"),
    ("hang", "def policy(observation):\n    while observation['time'] > 1:\n        pass\n    return [0.0]\n"),
];

/// What a report says of each episode, without what depends on time or place.
fn measured(job: &JobReport) -> serde_json::Value {
    let mut episodes = serde_json::to_value(&job.episode_details).unwrap();
    for episode in episodes.as_array_mut().unwrap() {
        for field in ["wall_time_s", "policy_latency_ms", "deadline_misses", "log_url", "log_type", "evidence", "error"]
        {
            episode[field] = serde_json::Value::Null;
        }
    }
    json!({ "verdict": job.verdict, "score": job.score, "episodes": episodes })
}

#[test]
fn a_worker_has_the_results_of_the_servers_lanes() {
    let (near, far) = (assay(), assay());
    let (_near_server, here) = serve(&near);
    let (server, there) = lanes_elsewhere(&far, &["workers.restep_one_in=1"]);
    let token = far.worker_token(&far.path("data"), "far");
    let _worker = far.work(server.address(), ("far", &token), &["--labels", "room=b2"]);
    for policy in ["reference", "reckless"] {
        let [own, remote] = [&here, &there].map(|client| client.ended_job(&submit(client, policy, "3"), JOB_LIMIT));
        assert_eq!(
            (remote.status, remote.episode_details.len()),
            (JobStatus::Completed, 3),
            "{:?}",
            remote.error_message
        );
        assert!(remote.episode_details.iter().all(|episode| episode.trace_hash.is_some()));
        assert_eq!(measured(&own), measured(&remote), "{policy}");
    }
    let row = worker_row(&there, "far");
    assert_eq!((&row["state"], &row["labels"]["room"], &row["lanes"]), (&json!("ACTIVE"), &json!("b2"), &json!(1)));
}

#[test]
fn a_recording_larger_than_its_share_counts_as_on_the_servers_lanes() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["server.max_evidence_mib=1"]);
    let token = assay.worker_token(&assay.path("data"), "honest");
    let _worker = assay.work(server.address(), ("honest", &token), &[]);
    // The share of one in two is larger than each file, and that of one in three is smaller than the trace.
    for episodes in ["2", "3"] {
        let id = submit(&client, "reference", episodes);
        let job = wait_for("the end of a job", JOB_LIMIT, || {
            let row = worker_row(&client, "honest");
            assert_eq!(row["state"], "ACTIVE", "{episodes} episodes: {row}");
            Some(client.job(&id)).filter(|job| job.status.is_final())
        });
        assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
        let sizes = job.episode_details[0].evidence.iter().map(|file| file.size_bytes);
        assert!(sizes.sum::<u64>() > (1 << 20) / episodes.parse::<u64>().unwrap(), "the share suffices");
    }
}

#[test]
fn a_policys_failure_on_a_worker_is_a_result_and_does_not_accuse_the_worker() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=1"]);
    let token = assay.worker_token(&assay.path("data"), "honest");
    let _worker = assay.work(server.address(), ("honest", &token), &[]);
    let parts = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")];
    let submitted: Vec<_> = FAILING
        .map(|(what, source)| (what, client.verify(&archive(&[("policy.py", source.as_bytes())]), &parts)))
        .into();
    for (what, id) in submitted {
        let job = wait_for("the end of a job", JOB_LIMIT, || {
            let row = worker_row(&client, "honest");
            assert_eq!(row["state"], "ACTIVE", "{what}: {row}");
            Some(client.job(&id)).filter(|job| job.status.is_final())
        });
        assert_eq!(job.status, JobStatus::Completed, "{what}");
        assert!(job.episode_details[0].error.is_some(), "{what}");
        let verdict = if what == "exit" { Verdict::Unsafe } else { Verdict::Inconclusive };
        assert_eq!(job.verdict, Some(verdict), "{what}");
    }
}

#[test]
fn a_job_of_a_policy_server_runs_on_a_worker_which_alone_calls_the_server() {
    let assay = assay();
    let open = ["--lanes", "0", "--policy-networks", "127.0.0.0/8"];
    let server = assay.serve(&assay.path("data"), &open);
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let token = assay.worker_token(&assay.path("data"), "caller");
    let _worker = assay.work(server.address(), ("caller", &token), &["--policy-networks", "127.0.0.0/8"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/policy_server.py");
    let policy = example(CARTPOLE, "reference").join("policy.py");
    let policy = PythonServer::start(&script, &[policy.to_str().unwrap(), "--key", "k-canary"]);
    let url = format!("ws://127.0.0.1:{}", policy.port());
    let parts = [
        ("scenario", CARTPOLE),
        ("policy_url", &url),
        ("policy_api_key", "k-canary"),
        ("record", "none"),
        ("num_episodes", "2"),
    ];
    let job = client.ended_job(&client.verify_server(&parts), JOB_LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    assert_eq!(worker_row(&client, "caller")["state"], "ACTIVE");
}

#[test]
fn a_worker_fetches_a_published_scenario_and_keeps_it() {
    let assay = assay();
    let digest = publish_pole(&assay);
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=1"]);
    let token = assay.worker_token(&assay.path("data"), "far");
    let _worker = assay.work(server.address(), ("far", &token), &[]);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let parts = [("scenario", POLE), ("num_episodes", "1"), ("record", "none")];
    for _ in 0..2 {
        let job = client.ended_job(&client.verify(&zip, &parts), JOB_LIMIT);
        assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
        assert_eq!(json!(job.scenario_digest), digest);
    }
    assert!(assay.path("cache-far/scenarios").join(digest.as_str().unwrap()).is_dir(), "in the worker's cache");
}
