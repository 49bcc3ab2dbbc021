//! A spare lane that waits for the next job of the same scenario.

use std::time::Duration;

use assay_model::{JobStatus, Verdict};
use assay_testkit::{Assay, Client, PATIENCE, example, wait_for, zip_folder};
use rustix::process::Signal;

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, serve};

const START_LIMIT: Duration = PATIENCE;

#[track_caller]
fn run(client: &Client, seed: &str) {
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let parts = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none"), ("seed", seed)];
    let job = client.ended_job(&client.verify(&zip, &parts), JOB_LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
}

fn lanes(assay: &Assay) -> Vec<i32> {
    assay.jailed().iter().filter(|jailed| jailed.is_lane()).map(|jailed| jailed.pid).collect()
}

#[test]
fn a_lane_waits_for_the_next_job() {
    let assay = assay();
    let (server, client) = serve(&assay);
    run(&client, "1");
    let waiting = wait_for("a lane that waits", START_LIMIT, || lanes(&assay).first().copied());
    // It serves one shard, like any other, and another one takes its place.
    run(&client, "2");
    run(&client, "3");
    wait_for("another lane that waits", START_LIMIT, || lanes(&assay).iter().any(|pid| *pid != waiting).then_some(()));
    // A spare lane that was killed while it waited costs the next job only a retry.
    assay.jailed().iter().filter(|jailed| jailed.is_lane()).for_each(assay_testkit::Jailed::kill);
    run(&client, "4");
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}
