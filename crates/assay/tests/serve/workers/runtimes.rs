//! Runtimes that only the server has: a worker fetches them.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_model::{EpisodeStatus, JobStatus};
use assay_policy::{InstalledRuntime, runtime_digest};
use assay_testkit::archive;
use rustix::process::Signal;
use serde_json::Value;

use super::fixture::{HonestRun, lanes_elsewhere, submit};
use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay};

/// Imports a module that only the runtime of the test has.
const POLICY: &[u8] =
    b"import numpy as np\nimport only_here\n\ndef policy(observation):\n    return np.full(1, only_here.FORCE)\n";

/// Adds a runtime to the service with the data folder `data`: the one that is shipped, and a module.
fn add_runtime(data: &Path) -> InstalledRuntime {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vendor/runtimes/base");
    let folder = data.join("runtimes/extra");
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    assert!(Command::new("cp").arg("-a").arg(shipped).arg(&folder).status().unwrap().success());
    fs::write(folder.join("py/lib/python3.11/site-packages/only_here.py"), "FORCE = 0.0\n").unwrap();
    let file = folder.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    manifest["name"] = "extra".into();
    manifest["sha256"] = runtime_digest(&folder).unwrap().to_string().into();
    fs::write(&file, manifest.to_string()).unwrap();
    InstalledRuntime::read(&folder).unwrap()
}

#[test]
fn a_worker_fetches_the_runtime_of_a_policy_and_keeps_it() {
    let assay = assay();
    let runtime = add_runtime(&assay.path("data"));
    let (server, client) = lanes_elsewhere(&assay, &["server.log_level=info"]);
    let token = assay.worker_token(&assay.path("data"), "far");
    let worker = assay.work(server.address(), ("far", &token), &[]);
    let zip = archive(&[("policy.py", POLICY), ("policy.toml", b"[tool.assay]\nruntime = \"extra\"\n")]);
    let parts = [("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")];
    for _ in 0..2 {
        let job = client.ended_job(&client.verify(&zip, &parts), JOB_LIMIT);
        assert_eq!(job.status, JobStatus::Completed, "{:?}", job.error_message);
        for episode in &job.episode_details {
            assert_eq!(episode.status, EpisodeStatus::Completed, "{:?}", episode.error);
        }
    }
    let version = runtime.manifest.version();
    let kept = assay.path(&format!("cache-far/runtimes/{}-{}", version.name, version.sha256));
    assert_eq!(InstalledRuntime::read(&kept).unwrap().manifest, runtime.manifest);
    worker.signal(Signal::TERM);
    let run = worker.wait(JOB_LIMIT);
    assert_eq!(run.stderr.matches("fetching a runtime").count(), 1, "{}", run.stderr);
    assert_eq!(fs::read_dir(assay.path("data/packed-runtimes")).unwrap().count(), 1);

    // One that starts with the cache has the runtime.
    let again = assay.work(server.address(), ("far", &token), &[]);
    let listed = super::fixture::worker_row(&client, "far");
    assert!(listed["runtimes"].to_string().contains(&version.sha256.to_string()[..8]), "{listed}");
    again.signal(Signal::TERM);
    assert_eq!(again.wait(JOB_LIMIT).code, 0);
    drop(server.stop(Signal::TERM, STOP_LIMIT));
}

#[test]
fn a_runtime_is_packed_only_where_it_leaves_the_space_that_the_records_need() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &[]);
    let run = HonestRun::of("reference");
    submit(&client, "reference", "1");
    drop(server.stop(Signal::TERM, STOP_LIMIT));
    let (server, _) = lanes_elsewhere(&assay, &["limits.disk.min_free_mib=1000000000"]);
    let worker = run.impostor(&assay, &server, "far");
    let (lease, _) = worker.claim(10).unwrap();
    let refused = worker.get(&format!("/leases/{lease}/runtime"));
    let message = refused.body["error"]["message"].as_str().unwrap_or_default();
    assert!(refused.status == 503 && message.contains("nearly full"), "{}", refused.body);
    assert!(!assay.path("data/packed-runtimes").exists());
}
