//! Workers that leave: killed, revoked, or asked to. Nothing is lost, and nothing is counted twice.

use std::time::Duration;

use assay_model::JobStatus;
use assay_testkit::{Client, SpareTime, archive, wait_for};
use rustix::process::Signal;
use serde_json::json;

use super::fixture::{lanes_elsewhere, submit, worker_row};
use crate::serve::{CARTPOLE, JOB_LIMIT, SLOW, assay, shorter};

/// Acts once a hundredth of a second, so that an episode takes about 5 s.
const SLOWER: &[u8] =
    b"import time\nimport numpy as np\n\ndef policy(observation):\n    time.sleep(0.01)\n    return np.zeros(1)\n";
/// Maximum time until a worker that stops has ended.
const END_LIMIT: Duration = Duration::from_secs(30);

#[track_caller]
fn holds_a_shard(client: &Client, name: &str) {
    wait_for("a worker with a shard", JOB_LIMIT, || {
        (worker_row(client, name)["shards"].as_u64() > Some(0)).then_some(())
    });
}

#[test]
fn the_episodes_of_a_killed_worker_run_elsewhere_once_its_lease_ends() {
    let assay = assay();
    let settings = [&["workers.restep_one_in=1"][..], &shorter(["intervals.worker_lease_s=12"])].concat();
    let (server, client) = lanes_elsewhere(&assay, &settings);
    let [first, second] = ["first", "second"].map(|name| (name, assay.worker_token(&assay.path("data"), name)));
    let killed = assay.work(server.address(), (first.0, &first.1), &[]);
    let parts = [("scenario", CARTPOLE), ("num_episodes", "3"), ("record", "none")];
    let id = client.verify(&archive(&[("policy.py", SLOWER)]), &parts);
    wait_for("a first result", JOB_LIMIT, || (client.job(&id).progress.episodes_done > 0).then_some(()));
    holds_a_shard(&client, "first");
    killed.signal(Signal::KILL);
    let _second = assay.work(server.address(), (second.0, &second.1), &[]);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.episode_details.len()), (JobStatus::Completed, 3), "{:?}", job.error_message);
    let episodes: Vec<u32> = job.episode_details.iter().map(|episode| episode.episode).collect();
    assert_eq!(episodes, [0, 1, 2]);
    let replaced: Vec<_> = job.episode_details.iter().flat_map(|episode| &episode.replaced_attempts).collect();
    assert!(replaced.len() == 1 && replaced[0].evidence.contains("host/first"), "{replaced:?}");
    assert_eq!(worker_row(&client, "first")["shards"], 0);
}

#[test]
fn a_revoked_worker_ends_and_its_job_goes_on_elsewhere() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=1"]);
    let [first, second] = ["first", "second"].map(|name| (name, assay.worker_token(&assay.path("data"), name)));
    let revoked = assay.work(server.address(), (first.0, &first.1), &[]);
    let parts = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")];
    let slow = client.verify(&archive(&[("policy.py", SLOW)]), &parts);
    holds_a_shard(&client, "first");
    assert_eq!(client.delete("/v1/workers/first").status, 204);
    let run = revoked.wait(END_LIMIT);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let last = run.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("revoked") && last.contains("assay workers create"), "{last}");
    assert_eq!(worker_row(&client, "first")["state"], "REVOKED");
    let _second = assay.work(server.address(), (second.0, &second.1), &[]);
    holds_a_shard(&client, "second");
    assert_eq!(client.job(&slow).status, JobStatus::Running);
    assert_eq!(client.post(&format!("/verify/{slow}/cancel")).status, 200);
    let job = client.ended_job(&submit(&client, "reference", "1"), JOB_LIMIT);
    assert_eq!(job.status, JobStatus::Completed);
    // Its token is of no use for a new process either.
    let refused = assay.begin_work(server.address(), (first.0, &first.1), &[]).wait(JOB_LIMIT);
    assert!(refused.code == 2 && refused.stderr.contains("revoked"), "{}", refused.stderr);
}

#[test]
fn a_worker_that_is_asked_to_stop_finishes_its_episode_and_hands_back_the_rest() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=1"]);
    let tokens = ["first", "second"].map(|name| assay.worker_token(&assay.path("data"), name));
    let asked = assay.work(server.address(), ("first", &tokens[0]), &[]);
    let parts = [("scenario", CARTPOLE), ("num_episodes", "3"), ("record", "none")];
    let id = client.verify(&archive(&[("policy.py", SLOWER)]), &parts);
    let recorded = || client.job(&id).progress.episodes_done;
    wait_for("a first result", JOB_LIMIT, || (recorded() > 0).then_some(()));
    // The second episode began right after the first, and takes far longer than this.
    let mut passed = SpareTime::new();
    wait_for("the second episode", JOB_LIMIT, || (passed.elapsed() > Duration::from_secs(1)).then_some(()));
    asked.signal(Signal::TERM);
    let run = asked.wait(END_LIMIT);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(recorded() >= 2, "the episode that ran is not lost");
    assert_eq!(worker_row(&client, "first")["shards"], json!(0), "nothing waits for the end of a lease");
    let _second = assay.work(server.address(), ("second", &tokens[1]), &[]);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.episode_details.len()), (JobStatus::Completed, 3));
    assert!(job.episode_details.iter().all(|episode| episode.replaced_attempts.is_empty()), "nothing ran twice");
}
