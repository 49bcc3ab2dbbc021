//! Logs and videos of a server without lanes: its workers render them, and those of a killed worker are rendered
//! elsewhere.

use assay_model::Verdict;
use assay_testkit::{archive, wait_for};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustix::process::Signal;
use serde_json::Value;

use super::fixture::lanes_elsewhere;
use crate::serve::{CARTPOLE, JOB_LIMIT, VIDEO_LIMIT, assay, drawn_job, shorter};

/// Ends the episode after half a simulated second.
const SHORT: &[u8] = b"import numpy as np\n\ndef policy(observation):\n    if observation['time'] > 0.5:\n        raise RuntimeError('seen enough')\n    return np.zeros(1)\n";

#[test]
fn a_worker_renders_for_a_server_without_lanes_under_its_name() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &shorter(["intervals.worker_lease_s=12"]));
    let tokens = ["first", "second"].map(|name| assay.worker_token(&assay.path("data"), name));
    let first = assay.work(server.address(), ("first", &tokens[0]), &[]);
    let parts = [("scenario", CARTPOLE), ("num_episodes", "2"), ("seed", "1"), ("record", "all")];
    let id = client.verify(&archive(&[("policy.py", SHORT)]), &parts);
    let judged = client.ended_job(&id, JOB_LIMIT);
    assert_eq!(judged.verdict, Some(Verdict::Inconclusive));
    wait_for("a part that a worker renders", VIDEO_LIMIT, || {
        first
            .stderr()
            .contains("render")
            .then_some(())
            .or_else(|| (client.job(&id).progress.videos_done > 0).then_some(()))
    });
    first.signal(Signal::KILL);
    let _second = assay.work(server.address(), ("second", &tokens[1]), &[]);
    let job = drawn_job(&client, &id);
    assert_eq!(job.progress.videos_done, 2);
    let mut by = Vec::new();
    for episode in &job.episode_details {
        let statement = episode.evidence.iter().find(|file| file.name.ends_with("video.intoto.json")).unwrap();
        let envelope = client.download(job.evidence_url(statement).unwrap());
        let envelope: Value = serde_json::from_slice(&envelope).unwrap();
        let payload = BASE64_STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
        let payload: Value = serde_json::from_slice(&payload).unwrap();
        by.push(payload["predicate"]["worker"].as_str().unwrap_or("the server").to_owned());
    }
    assert!(by.iter().any(|name| name == "second") && by.iter().all(|name| name != "the server"), "{by:?}");
}
