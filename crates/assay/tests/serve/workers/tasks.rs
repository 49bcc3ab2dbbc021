//! Replays, preflights and publications of a server without lanes: workers that the operator trusts do them.

use std::collections::BTreeMap;
use std::fs;
use std::thread;

use assay_model::JobStatus;
use assay_testkit::{Answer, Assay, Client, ProtocolWorker, Running, example, wait_for, zip_folder};
use rustix::process::Signal;
use serde_json::json;

use super::fixture::{lanes_elsewhere, submit, worker_row};
use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, shorter};

/// Starts a worker that the operator trusts.
#[track_caller]
fn trusted(assay: &Assay, address: &str, client: &Client, name: &str) -> Running {
    let made = client.post_json("/v1/workers", &json!({ "name": name, "trusted": true }));
    assert_eq!(made.status, 201, "{}", made.body);
    assay.work(address, (name, made.body["token"].as_str().unwrap()), &[])
}

/// Returns a scenario to be published.
fn pole(assay: &Assay) -> Vec<u8> {
    let renamed = |_: &str, text: String| text.replacen(&format!("id = \"{CARTPOLE}\""), "id = \"pole\"", 1);
    zip_folder(&assay.copy_scenario(CARTPOLE, "copy", renamed))
}

/// Returns the workers that have a task now.
fn holders(assay: &Assay) -> Vec<String> {
    let folders = fs::read_dir(assay.path("data/tasks")).unwrap().flatten();
    let files = folders.filter_map(|folder| fs::read_dir(folder.path()).ok()).flatten().flatten();
    let leases = files.filter(|file| file.file_name().to_string_lossy().starts_with("leased-"));
    leases.filter_map(|lease| fs::read_to_string(lease.path()).ok()).filter(|name| !name.is_empty()).collect()
}

#[test]
fn a_trusted_worker_tries_replays_and_checks_for_a_server_without_lanes() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["workers.restep_one_in=0", "server.log_level=info"]);
    let token = assay.worker_token(&assay.path("data"), "untrusted");
    let untrusted = assay.work(server.address(), ("untrusted", &token), &[]);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let pole = pole(&assay);

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

#[test]
fn the_tasks_of_killed_workers_are_done_by_another_and_their_clients_get_the_answers() {
    let assay = assay();
    let settings = [&["workers.restep_one_in=0"][..], &shorter(["intervals.worker_lease_s=12"])].concat();
    let (server, client) = lanes_elsewhere(&assay, &settings);
    let start = |name: &str| (name.to_owned(), trusted(&assay, server.address(), &client, name));
    let mut doomed: BTreeMap<_, _> = ["a", "b", "c"].map(start).into();
    let (zip, pole) = (zip_folder(&example(CARTPOLE, "reference")), pole(&assay));
    let job = client.ended_job(&submit(&client, "reference", "1"), JOB_LIMIT);
    let replay = || client.post_json(&format!("/verify/{}/replay", job.job_id), &json!({ "episode": 0 }));
    let preflight = || client.try_form("/preflight", Some(&zip), &[("scenario", CARTPOLE)]).unwrap();
    let publication = || client.try_publish(&pole, &[("tags", "mine")]).unwrap();
    let requests: [&(dyn Fn() -> Answer + Sync); 3] = [&replay, &preflight, &publication];
    thread::scope(|scope| {
        let answers = requests.map(|request| {
            let answer = scope.spawn(request);
            let killed = wait_for("a worker with a task", JOB_LIMIT, || {
                holders(&assay).into_iter().find_map(|name| doomed.remove(&name))
            });
            killed.signal(Signal::KILL);
            answer
        });
        let _other = start("other");
        let [replayed, tried, published] = answers.map(|answer| answer.join().unwrap());
        assert_eq!((replayed.status, &replayed.body["same"]), (200, &json!(true)), "{}", replayed.body);
        assert_eq!((tried.status, &tried.body["holds"]), (200, &json!(true)), "{}", tried.body);
        assert_eq!((published.status, published.body["id"].as_str()), (201, Some("admin.pole")), "{}", published.body);
    });
    assert_eq!(fs::read_dir(assay.path("data/tasks")).unwrap().count(), 0);
}

#[test]
fn a_task_at_which_a_worker_fails_is_tried_by_another_and_is_no_fault_of_the_server() {
    let assay = assay();
    let (server, client) = lanes_elsewhere(&assay, &["server.log_level=info"]);
    let listed = client.get("/v1/runtimes");
    let runtime = listed.body["runtimes"][0]["sha256"].clone();
    assert!(runtime.is_string(), "{}", listed.body);
    let machine = json!({
        "mujoco": "3.17.0", "libmujoco_sha256": "22".repeat(32), "cpu_features": [], "glibc": "2.36", "numpy": "2.2.0",
        "blas_core": "HASWELL", "scorer_version": "2", "isolation": "namespaces", "runtime": null,
    });
    let registration = json!({ "protocol": 1, "registration": {
        "machine": machine, "runtimes": [runtime], "lanes": 1, "cameras": true, "renders": true, "memory_mib": 4096,
        "labels": {}, "version": "0.1.0",
    } });
    let workers = ["one", "two"].map(|name| {
        let made = client.post_json("/v1/workers", &json!({ "name": name, "trusted": true }));
        ProtocolWorker::register(server.address(), made.body["token"].as_str().unwrap(), &registration)
    });
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let refused = thread::scope(|scope| {
        let asked = scope.spawn(|| client.try_form("/preflight", Some(&zip), &[("scenario", CARTPOLE)]).unwrap());
        for worker in &workers {
            let claimed = worker.post("/tasks/claim", &json!({ "wait_s": 20 }));
            let lease = claimed.body["task"]["lease"].as_str().unwrap_or_else(|| panic!("{}", claimed.body)).to_owned();
            let broken = json!({ "outcome": "broken", "message": "the jail does not start" });
            assert_eq!(worker.post(&format!("/tasks/{lease}/answer"), &broken).status, 204);
        }
        asked.join().unwrap()
    });
    assert_eq!(refused.status, 503, "{}", refused.body);
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("a worker of this server failed"), "{message}");
    assert!(!refused.body.to_string().contains("jail"), "a worker's words are for the operator");
    let run = server.stop(Signal::TERM, STOP_LIMIT);
    assert_eq!(run.stderr.matches("the jail does not start").count(), 2, "{}", run.stderr);
}
