//! A sleeping policy occupies its lane, but does not delay other accounts.

use assay_model::{EpisodeStatus, JobStatus, Verdict};
use assay_testkit::{archive, example, wait_for, zip_folder};
use rustix::process::Signal;
use serde_json::json;

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, serve_with};

/// A job of one episode without videos.
const ONE: [(&str, &str); 3] = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")];
/// An episode of 500 steps takes 1500 s, far under the limit for a single answer.
const SLEEPY: &[u8] = b"import time\n\ndef policy(observation):\n    time.sleep(3)\n    return [0]\n";

#[test]
fn a_sleeping_policy_does_not_delay_others() {
    let assay = assay();
    let server = assay.serve(&assay.path("data"), &["--lanes", "1"]);
    let admin = server.client(&std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let client_of = |account: &str| {
        let key = json!({ "name": account, "account": account, "scopes": ["read", "verify"] });
        let made = admin.post_json("/keys", &key);
        assert_eq!(made.status, 201, "{}", made.body);
        server.client(made.body["key"].as_str().unwrap())
    };
    let (sleepy, other) = (client_of("sleepy"), client_of("other"));
    let asleep = archive(&[("policy.py", SLEEPY)]);
    let (first, second) = (sleepy.verify(&asleep, &ONE), sleepy.verify(&asleep, &ONE));
    wait_for("the sleeping episode", JOB_LIMIT, || (sleepy.job(&first).status == JobStatus::Running).then_some(()));
    let quick = other.verify(&zip_folder(&example(CARTPOLE, "reference")), &ONE);
    let found = other.ended_job(&quick, JOB_LIMIT);
    assert_eq!((found.status, found.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{}", server.log());
    // The account of the sleeping policy gets no further lane.
    assert_eq!(sleepy.job(&first).status, JobStatus::Running, "the sleep is not over yet: the lane was shared");
    assert_eq!(sleepy.job(&second).status, JobStatus::Queued);
    for id in [&first, &second] {
        assert_eq!(sleepy.post(&format!("/verify/{id}/cancel")).status, 200);
    }
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}

#[test]
fn a_sleeping_policy_has_a_budget() {
    let assay = assay();
    let budget = ["limits.job.wall_budget_s=4", "limits.job.wall_budget_per_simulated_s=0"];
    let (server, client) = serve_with(&assay, &budget);
    let ended = client.ended_job(&client.verify(&archive(&[("policy.py", SLEEPY)]), &ONE), JOB_LIMIT);
    let episode = &ended.episode_details[0];
    let error = episode.error.as_ref().unwrap();
    assert_eq!((episode.status, error.code.as_str()), (EpisodeStatus::PolicyTimeout, "wall_budget"), "{error:?}");
    assert_eq!((ended.verdict, ended.replaced_attempts.len()), (Some(Verdict::Inconclusive), 0));
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}
