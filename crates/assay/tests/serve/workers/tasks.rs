//! Replays, preflights and publications of a server without lanes: workers that the operator trusts do them.

use assay_model::JobStatus;
use assay_testkit::{Assay, Client, Running, example, zip_folder};
use rustix::process::Signal;
use serde_json::json;

use super::fixture::{lanes_elsewhere, submit, worker_row};
use crate::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay};

/// Starts a worker that the operator trusts.
#[track_caller]
fn trusted(assay: &Assay, address: &str, client: &Client, name: &str) -> Running {
    let made = client.post_json("/v1/workers", &json!({ "name": name, "trusted": true }));
    assert_eq!(made.status, 201, "{}", made.body);
    assay.work(address, (name, made.body["token"].as_str().unwrap()), &[])
}

#[test]
fn a_trusted_worker_tries_replays_and_checks_for_a_server_without_lanes() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0", "server.log_level=info"]);
    let token = assay.worker_token(&assay.path("data"), "untrusted");
    let untrusted = assay.work(server.address(), ("untrusted", &token), &[]);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let pole = assay
        .copy_scenario(CARTPOLE, "copy", |_, text| text.replacen(&format!("id = \"{CARTPOLE}\""), "id = \"pole\"", 1));
    let pole = zip_folder(&pole);

    // No worker may do it: the answer says what to do.
    let refused = client.try_form("/preflight", Some(&zip), &[("scenario", CARTPOLE)]).unwrap();
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(refused.body.to_string().contains("workers create NAME --trusted"), "{}", refused.body);
    let refused = client.try_publish(&pole, &[("tags", "mine")]).unwrap();
    assert_eq!(refused.status, 503, "{}", refused.body);
    let job = client.ended_job(&submit(&client, "reference", "1"), JOB_LIMIT);
    assert_eq!(job.status, JobStatus::Completed);
    let replay =
        |episode: u32| client.post_json(&format!("/verify/{}/replay", job.job_id), &json!({ "episode": episode }));
    assert_eq!(replay(0).body["same"], true, "the server replays, since nobody else may");
    untrusted.signal(Signal::TERM);

    let _trusted = trusted(&assay, server.address(), &client, "trusted");
    let tried = client.try_form("/preflight", Some(&zip), &[("scenario", CARTPOLE)]).unwrap();
    assert_eq!((tried.status, &tried.body["holds"]), (200, &json!(true)), "{}", tried.body);
    let made = client.try_publish(&pole, &[("tags", "mine")]).unwrap();
    assert_eq!((made.status, made.body["id"].as_str()), (201, Some("admin.pole")), "{}", made.body);
    let replayed = replay(0);
    assert_eq!((replayed.status, &replayed.body["same"]), (200, &json!(true)), "{}", replayed.body);
    assert_eq!(replayed.body["replayed_trace_hash"], replayed.body["recorded_trace_hash"]);
    assert_eq!(worker_row(&client, "trusted")["trusted"], true);
    let left = std::fs::read_dir(assay.path("data/tasks")).unwrap().count();
    assert_eq!(left, 0, "nothing is left of a task");
    let run = server.stop(Signal::TERM, STOP_LIMIT);
    assert_eq!(run.stderr.matches("task answered").count(), 3, "{}", run.stderr);
}
