//! `assay connect`, with a policy in the jail and with a policy server.

use std::fs;
use std::path::{Path, PathBuf};

use assay_model::{JobReport, JobStatus, PolicyIdentity, ReviewReason};
use assay_testkit::{Account, Assay, Jailed, PythonServer, Run, archive, example, wait_for};
use rustix::process::Signal;

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, serve, shared_server};

/// The arguments of `assay connect` for the service at an address, with a key in a file, and more.
pub(super) fn connect((address, key): (&str, &Path), policy: &str, more: &[&str]) -> Vec<String> {
    let url = format!("http://{address}");
    let own = ["connect", policy, "--server", &url, "--key-file", key.to_str().unwrap(), "--scenario", CARTPOLE];
    own.iter().chain(["--seed", "0", "--record", "none"].iter()).chain(more).map(|text| (*text).to_owned()).collect()
}

/// The first key of a server on the folder `data`.
fn first_key(assay: &Assay) -> PathBuf {
    assay.path("data/bootstrap-key")
}

pub(super) fn report(run: &Run) -> JobReport {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", run.stdout, run.stderr))
}

pub(super) fn hashes(report: &JobReport) -> Vec<Option<String>> {
    report.episode_details.iter().map(|episode| episode.trace_hash.as_ref().map(ToString::to_string)).collect()
}

#[test]
fn a_policy_that_connects_gets_the_verdict_that_it_gets_here() {
    let assay = assay();
    let (server, _client) = serve(&assay);
    let policy = example(CARTPOLE, "reference");
    let policy = policy.to_str().unwrap();
    let out = assay.path("out");
    let more = ["--episodes", "2", "--json", "--out", out.to_str().unwrap()];
    let run = assay.run(&connect((server.address(), &first_key(&assay)), policy, &more));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let found = report(&run);
    let local =
        ["verify", policy, "--scenario", CARTPOLE, "--episodes", "2", "--seed", "0", "--record", "none", "--json"];
    let here = report(&assay.run(&local));
    assert_eq!((found.verdict, found.score, hashes(&found)), (here.verdict, here.score, hashes(&here)));
    assert!(hashes(&found).iter().all(Option::is_some));
    assert_eq!((found.policy_identity, found.policy_sha256), (PolicyIdentity::Declared, None));
    assert_eq!(found.policy_name, "reference");
    assert!(found.review_reasons.contains(&ReviewReason::DeclaredIdentity));
    // The report in the folder is the one that the service signed.
    let keys = assay.path("data/signing");
    assert!(keys.is_dir());
    let statement = fs::read_to_string(out.join("report.intoto.json")).unwrap();
    assert!(statement.contains("payload"), "{statement}");
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("declared"));
    assert!(!server.log().contains("assayc_"), "a token is in the log");
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assert!(!assay.path(&format!("data/servers/{}.json", found.job_id)).exists());
    assay.assert_clean();
}

#[test]
fn a_policy_server_behind_nat_is_forwarded() {
    let assay = assay();
    // A service that may call no address of this machine.
    let (server, _client) = serve(&assay);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/policy_server.py");
    let policy = example(CARTPOLE, "reference").join("policy.py");
    let key = "k-9Q-canary";
    let called = PythonServer::start(&script, &[policy.to_str().unwrap(), "--key", key, "--horizon", "5"]);
    let url = format!("ws://127.0.0.1:{}/?token=t-canary", called.port());
    let more = ["--episodes", "2", "--json", "--policy-api-key", key, "--replan-steps", "3"];
    let run = assay.run(&connect((server.address(), &first_key(&assay)), &url, &more));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let found = report(&run);
    assert_eq!((found.policy_identity, found.replan_steps), (PolicyIdentity::Declared, Some(3)));
    assert_eq!(found.policy_name, format!("ws://127.0.0.1:{}/", called.port()));
    // Neither the key nor the token of the address leaves this machine.
    assert!(!format!("{}{}{}", run.stdout, run.stderr, server.log()).contains("canary"));
}

#[test]
fn a_policy_that_fails_says_why() {
    let assay = assay();
    let (server, Account { key, .. }) = shared_server("default");
    let key = assay.write("key", key);
    let broken = assay.write("broken/policy.py", "def policy(observation):\n    return 1 / 0\n");
    let run =
        assay.run(&connect((server.address(), &key), broken.parent().unwrap().to_str().unwrap(), &["--episodes", "2"]));
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stdout.contains("ZeroDivisionError") && run.stdout.contains("INCONCLUSIVE"), "{}", run.stdout);
    // A policy that cannot be imported, and the address of no server.
    let unimportable = assay.write("gone/policy.py", "import nothing_of_this_name\n");
    let folder = unimportable.parent().unwrap().to_str().unwrap().to_owned();
    let run = assay.run(&connect((server.address(), &key), &folder, &["--episodes", "1", "--json"]));
    assert_eq!(report(&run).episode_details[0].error.as_ref().unwrap().code.as_str(), "import_error", "{}", run.stdout);
    let run = assay.run(&connect((server.address(), &key), "http://127.0.0.1:1", &["--episodes", "1", "--json"]));
    assert_eq!(report(&run).episode_details[0].error.as_ref().unwrap().code.as_str(), "connect", "{}", run.stdout);
}

#[test]
fn the_command_cancels_its_job_and_ends_with_it() {
    let assay = assay();
    let (server, Account { client, key, .. }) = shared_server("default");
    let key = assay.write("key", key);
    let slow = assay.write("slow.zip", archive(&[("policy.py", crate::serve::SLOW)]));
    let running = assay.start(&connect((server.address(), &key), slow.to_str().unwrap(), &["--episodes", "3"]));
    let only = || client.get("/verify").body["jobs"][0].clone();
    wait_for("a job that runs", JOB_LIMIT, || (only()["status"] == "RUNNING").then_some(()));
    running.signal(Signal::INT);
    let run = running.wait(JOB_LIMIT);
    assert_eq!(run.code, 130, "{}", run.stderr);
    assert!(run.stderr.contains("the job was cancelled"), "{}", run.stderr);
    assert_eq!(only()["status"], "CANCELLED");
    // A job that is cancelled at the service ends the command.
    let running = assay.start(&connect((server.address(), &key), slow.to_str().unwrap(), &["--episodes", "3"]));
    wait_for("a job that runs", JOB_LIMIT, || (only()["status"] == "RUNNING").then_some(()));
    let id = only()["job_id"].as_str().unwrap().to_owned();
    assert_eq!(client.post(&format!("/verify/{id}/cancel")).status, 200);
    let run = running.wait(JOB_LIMIT);
    assert!(run.code == 2 && run.stderr.contains("cancelled at the service"), "{} {}", run.code, run.stderr);
    assert_eq!(client.job(&id).status, JobStatus::Cancelled);
}

#[test]
fn a_simulator_that_dies_costs_the_policy_nothing() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let policy = assay.write(
        "steady.zip",
        archive(&[(
            "policy.py",
            b"import time\nimport numpy as np\n\ndef policy(o):\n    time.sleep(0.004)\n    return np.zeros(1)\n",
        )]),
    );
    let running = assay.start(&connect(
        (server.address(), &first_key(&assay)),
        policy.to_str().unwrap(),
        &["--episodes", "1", "--json"],
    ));
    // While the policy acts: it slows the episode down to some seconds.
    let acts = || client.get("/verify").body["jobs"][0]["waiting_for"] == "its policy server";
    let lane = wait_for("a lane", JOB_LIMIT, || assay.jailed().into_iter().find(Jailed::is_lane).filter(|_| acts()));
    lane.kill();
    let run = running.wait(JOB_LIMIT);
    let found = report(&run);
    assert_eq!(found.episode_details[0].error, None, "{}", run.stderr);
    assert_eq!(found.blame, None);
}

#[test]
fn wrong_arguments_say_why() {
    let assay = assay();
    let (server, Account { client, key, .. }) = shared_server("default");
    let key = assay.write("key", key);
    let policy = example(CARTPOLE, "reference");
    let policy = policy.to_str().unwrap();
    for (more, part) in [
        (&["--policy-concurrency", "2"][..], "one episode at a time"),
        (&["--episodes", "0"], "num_episodes"),
        (&["--scenario", "nothing"], "nothing"),
    ] {
        let own = connect((server.address(), &key), policy, &[]);
        let mut arguments: Vec<&str> = own.iter().map(String::as_str).collect();
        match arguments.iter().position(|argument| *argument == more[0]) {
            Some(at) => arguments[at + 1] = more[1],
            None => arguments.extend(more),
        }
        let run = assay.run(&arguments);
        assert!(run.code == 2 && run.stderr.contains(part), "{more:?}: {} {}", run.code, run.stderr);
    }
    assert_eq!(client.get("/verify").body["total"], 0);
    let run =
        assay.run(&["connect", policy, "--scenario", CARTPOLE, "--server", "http://127.0.0.1:1", "--key", "assay_x_y"]);
    assert!(run.code == 4 && run.stderr.contains("no response from http://127.0.0.1:1"), "{} {}", run.code, run.stderr);
}
