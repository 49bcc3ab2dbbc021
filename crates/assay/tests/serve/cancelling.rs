//! Cancels a job in each of its states: within two seconds, no process, lane or file of it is left.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use assay_model::JobStatus;
use assay_testkit::{Assay, Client, FakeVision, Saying, archive, example, wait_for, zip_folder};

use crate::serve::{CARTPOLE, JOB_LIMIT, SLOW, assay, serve};

/// Maximum time from the answer to a cancellation to the end of everything that belongs to the job.
const CANCEL_LIMIT: Duration = Duration::from_secs(2);

/// Cancels a job and waits until nothing of it is left; `what` describes its activity.
#[track_caller]
fn cancel(assay: &Assay, client: &Client, id: &str, what: &str) {
    cancel_beside(0, assay, client, id, what);
}

/// The same where idle threads may have started lanes ahead of time, at most `spare`, which are of no job.
#[track_caller]
fn cancel_beside(spare: usize, assay: &Assay, client: &Client, id: &str, what: &str) {
    let begun = Instant::now();
    let answer = client.post(&format!("/verify/{id}/cancel"));
    assert_eq!((answer.status, answer.body["status"].as_str()), (200, Some("CANCELLED")), "{what}: {}", answer.body);
    wait_for(&format!("the end of a job that was {what}"), CANCEL_LIMIT, || {
        let lane = assay.jailed().iter().filter(|jailed| jailed.is_lane()).count() > spare;
        let scratch = fs::read_dir(assay.path("tmp")).unwrap().any(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.contains("shard") || name.contains("judge")
        });
        let call = assay.path("data/servers").join(format!("{id}.json")).exists();
        (!lane && !scratch && !call).then_some(())
    });
    eprintln!("cancelled {what}: nothing left after {:?}", begun.elapsed());
    assert_eq!(client.job(id).status, JobStatus::Cancelled);
}

/// Checks that the lanes are free: a job of another policy gets its verdict.
#[track_caller]
fn lanes_are_free(client: &Client) {
    let zip = zip_folder(&example(CARTPOLE, "idle"));
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")]);
    assert!(client.ended_job(&id, JOB_LIMIT).verdict.is_some());
}

#[test]
fn a_job_can_be_cancelled_while_it_waits_and_while_an_episode_runs() {
    let assay = assay();
    let (_server, client) = serve(&assay);
    let zip = archive(&[("policy.py", SLOW)]);
    let running = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2")]);
    wait_for("two lanes", JOB_LIMIT, || {
        (assay.jailed().iter().filter(|jailed| jailed.is_lane()).count() >= 2).then_some(())
    });
    let queued = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2")]);
    assert_eq!(client.job(&queued).status, JobStatus::Queued);
    let answer = client.post(&format!("/verify/{queued}/cancel"));
    assert_eq!((answer.status, answer.body["status"].as_str()), (200, Some("CANCELLED")));
    cancel(&assay, &client, &running, "in the middle of an episode");
    lanes_are_free(&client);
    assert!(client.job(&queued).started_at.is_none(), "it was never begun");
}

#[test]
fn a_job_can_be_cancelled_while_it_waits_for_a_policy_server() {
    let assay = assay();
    let server = assay.serve(&assay.path("data"), &["--lanes", "1", "--policy-networks", "127.0.0.0/8"]);
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    // It accepts connections but never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let id = client.verify_server(&[("scenario", CARTPOLE), ("policy_url", &url), ("policy_api_key", "k-1")]);
    wait_for("a connection to the policy server", JOB_LIMIT, || {
        silent.set_nonblocking(true).unwrap();
        silent.accept().ok()
    });
    cancel(&assay, &client, &id, "waiting for its policy server");
}

#[test]
fn a_job_can_be_cancelled_while_the_second_judge_is_asked() {
    let assay = assay();
    let fake = FakeVision::start(|_, _| Saying::Silence(Duration::from_secs(60)));
    let base = fake.base();
    let arguments = ["--lanes", "1", "--judge-url", &base, "--judge-model", "fake", "--judge-frames", "3"];
    let server = assay.serve(&assay.path("data"), &arguments);
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")]);
    wait_for("a question to the judge", JOB_LIMIT, || (!fake.asked().is_empty()).then_some(()));
    assert_eq!(client.job(&id).status, JobStatus::Judging);
    // Its lane's thread is idle, and starts the next lane of the scenario.
    cancel_beside(1, &assay, &client, &id, "asking its judge");
}
