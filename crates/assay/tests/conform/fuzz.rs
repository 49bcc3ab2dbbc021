//! Generated requests, valid and invalid, in known and in random order, with and without a key: every answer agrees
//! with the OpenAPI document, and none is an internal error.
//!
//! Neither schemathesis nor the service can look up a name or dial an address that is not loopback: the service sees a
//! file system whose only source of names is a list with loopback in it, and `hooks.py` lets no other address through.

use std::path::Path;

use assay_testkit::{Assay, Client, PythonServer, example, home, zip_folder};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use crate::conform::{CARTPOLE, JOB_LIMIT, assay, here, serve, stdout_of, tool};

/// Number of random requests to each operation, in addition to those that follow from the document; more in
/// `tools/test-long requests`.
const PER_OPERATION: (&str, &str) = ("ASSAY_REQUESTS_PER_OPERATION", "10");
/// Minimum number of requests in the whole run.
const CASES: u64 = 2000;
/// Limits that the run does not reach, because quotas have separate tests.
pub(crate) const LIMITS: [&str; 13] = [
    "limits.rate.verify_per_minute=1000000",
    "limits.rate.submissions_per_minute=1000000",
    "limits.rate.get_per_minute=1000000",
    "limits.rate.write_per_minute=1000000",
    "limits.rate.models_per_minute=1000000",
    "limits.account.models=1000000",
    "models.max_bytes=1000000",
    "models.min_chunk_bytes=1",
    "limits.account.jobs_per_day=1000000",
    "limits.account.active_jobs=1000000",
    "limits.account.queued_sim_s=1000000000",
    "limits.account.streams=1000",
    "limits.job.max_episodes=2",
];

/// Returns a service that can look up only the names of loopback.
fn without_names() -> Assay {
    let assay = assay();
    let hosts = assay.write("hosts", "127.0.0.1 localhost\n::1 localhost\n");
    let switch = assay.write("nsswitch.conf", "hosts: files\n");
    let bind = |from: &Path, to: &str| ["--ro-bind".to_owned(), from.display().to_string(), to.to_owned()];
    let start = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/"].map(str::to_owned);
    let binds = [bind(&hosts, "/etc/hosts"), bind(&switch, "/etc/nsswitch.conf")].concat();
    assay.started_by(start.into_iter().chain(binds))
}

/// Creates a completed job and a cancelled one.
fn jobs(client: &Client, archive: &[u8]) -> (String, [String; 2]) {
    let parts = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")];
    let done = client.verify(archive, &parts);
    let job = client.ended_job(&done, JOB_LIMIT);
    let address = job.evidence_url(&job.episode_details[0].evidence[0]).unwrap().to_owned();
    let cancelled = client.verify(archive, &parts);
    assert_eq!(client.post(&format!("/verify/{cancelled}/cancel")).status, 200);
    (address, [done, cancelled])
}

#[test]
fn schemathesis_finds_nothing() {
    let assay = without_names();
    let limits = LIMITS.iter().flat_map(|limit| ["--set", limit]);
    let opened = ["-v", "--policy-networks", "127.0.0.0/8,::1", "--set", "server.webhook_networks=127.0.0.0/8,::1"];
    let options: Vec<_> = opened.into_iter().chain(limits).collect();
    let (server, client, key) = serve(&assay, &options);
    let archive = zip_folder(&example(CARTPOLE, "reference"));
    let source = example(CARTPOLE, "reference").join("policy.py");
    let script = here().with_file_name("verify/policy_server.py");
    let policy = PythonServer::start(&script, &[source.to_str().unwrap()]);
    let made = client.post("/webhooks/secret");
    let secret = assay.write("webhook-secret", made.body["secret"].as_str().unwrap());
    let receiver = home().join("docs/webhook_receiver.py");
    let receiver = PythonServer::start(&receiver, &["--secret-file", secret.to_str().unwrap()]);
    let (artifact, jobs) = jobs(&client, &archive);
    let scenarios = client.get("/scenarios").body["scenarios"].as_array().unwrap().clone();
    let scenarios: Vec<_> = scenarios.into_iter().map(|scenario| scenario["id"].clone()).collect();
    let facts = json!({
        "archive": BASE64_STANDARD.encode(&archive),
        "scenarios": scenarios,
        "jobs": jobs,
        "artifact": artifact,
        "server": format!("ws://127.0.0.1:{}", policy.port()),
        "receiver": format!("http://127.0.0.1:{}/", receiver.port()),
        "own_key": key.split('_').nth(1).unwrap(),
    });
    let authorization = format!("Authorization: Bearer {key}");
    let (variable, usual) = PER_OPERATION;
    let random = std::env::var(variable).unwrap_or_else(|_| usual.to_owned());
    let run = |more: &[&str]| {
        let base = format!("http://{}", server.address());
        let mut command = tool("schemathesis");
        command.args(["run", &format!("{base}/openapi.json"), "--url", &base, "--generation-deterministic"]);
        // Rotation would revoke the key of all other requests.
        command.args(["--exclude-path", "/keys/rotate"]);
        command.args(["--continue-on-failure", "--checks", "all", "--max-examples", &random]).args(more);
        command.env("SCHEMATHESIS_HOOKS", "hooks").env("ASSAY_FUZZ_FACTS", facts.to_string());
        generated(&stdout_of(command.current_dir(assay.path("")).output().unwrap()))
    };
    let with_key = run(&["--header", &authorization]);
    eprintln!("{with_key} requests with a key");
    let without = run(&["--phases", "coverage"]);
    assert!(with_key >= CASES, "only {with_key} cases with a key");
    assert!(without > 0, "no case without a key");
    let log = server.log();
    let faults: Vec<_> =
        log.lines().filter(|line| line.contains(" ERROR ") || line.contains("http.status=5")).collect();
    assert!(faults.is_empty(), "{faults:?}");
}

/// Returns the number in schemathesis' line `123 generated, ...`.
fn generated(report: &str) -> u64 {
    let count = report.lines().find_map(|line| line.trim().split_once(" generated")?.0.parse().ok());
    count.unwrap_or_else(|| panic!("no count of cases in {report}"))
}
