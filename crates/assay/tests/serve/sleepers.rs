//! A sleeping policy occupies its lane, but does not delay other accounts.

use std::time::Duration;

use assay_model::{EpisodeStatus, JobStatus, Verdict};
use assay_testkit::{archive, example, wait_for, zip_folder};
use rustix::process::Signal;
use serde_json::json;

use crate::{CARTPOLE, STOP_LIMIT, assay};

const LIMIT: Duration = Duration::from_secs(120);
/// An episode of 500 steps takes 1500 s, far under the limit for a single answer.
const SLEEPY: &[u8] = b"import time\n\ndef policy(observation):\n    time.sleep(3)\n    return [0]\n";

#[test]
fn a_sleeping_policy_does_not_delay_others_and_has_a_budget() {
    let assay = assay();
    let budget = ["--set", "limits.job.wall_budget_s=40", "--set", "limits.job.wall_budget_per_simulated_s=0"];
    let server = assay.serve(&assay.path("data"), &[&["--lanes", "1"][..], &budget].concat());
    let admin = server.client(&std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let client_of = |account: &str| {
        let key = json!({ "name": account, "account": account, "scopes": ["read", "verify"] });
        let made = admin.post_json("/keys", &key);
        assert_eq!(made.status, 201, "{}", made.body);
        server.client(made.body["key"].as_str().unwrap())
    };
    let (sleepy, other) = (client_of("sleepy"), client_of("other"));
    let one = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")];
    let asleep = archive(&[("policy.py", SLEEPY)]);
    let (first, second) = (sleepy.verify(&asleep, &one), sleepy.verify(&asleep, &one));
    wait_for("the sleeping episode", LIMIT, || (sleepy.job(&first).status == JobStatus::Running).then_some(()));
    let quick = other.verify(&zip_folder(&example(CARTPOLE, "reference")), &one);
    let found = other.ended_job(&quick, LIMIT);
    assert_eq!((found.status, found.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{}", server.log());
    // The account of the sleeping policy gets no further lane.
    assert_eq!(sleepy.job(&first).status, JobStatus::Running, "the sleep is not over yet: the lane was shared");
    assert_eq!(sleepy.job(&second).status, JobStatus::Queued);
    let ended = sleepy.ended_job(&first, LIMIT);
    let episode = &ended.episode_details[0];
    let error = episode.error.as_ref().unwrap();
    assert_eq!((episode.status, error.code.as_str()), (EpisodeStatus::PolicyTimeout, "wall_budget"), "{error:?}");
    assert_eq!((ended.verdict, ended.replaced_attempts.len()), (Some(Verdict::Inconclusive), 0));
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}
