//! Jobs whose policy is a server: from POST to verdict, and the handling of the key.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use assay_model::{JobReport, JobStatus, PolicyIdentity, ReviewReason, Verdict};
use assay_testkit::{Account, Assay, Client, PythonServer, Server, example, wait_for, zip_folder};
use rustix::process::Signal;

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay, shared_server};

const KEY: &str = "k-7Jq2-canary";

fn policy_server(more: &[&str]) -> PythonServer {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify/policy_server.py");
    let policy = example(CARTPOLE, "reference").join("policy.py");
    PythonServer::start(&script, &[&[policy.to_str().unwrap()], more].concat())
}

/// Starts a service that may call policy servers on this machine, with the most detailed log.
#[track_caller]
fn open_service(assay: &Assay) -> (Server, Client) {
    let server = assay.serve(&assay.path("data"), &["--lanes", "1", "--policy-networks", "127.0.0.0/8,::1", "-vv"]);
    let key = fs::read_to_string(assay.path("data/bootstrap-key")).unwrap();
    let client = server.client(&key);
    (server, client)
}

fn parts<'a>(url: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let own = [("scenario", CARTPOLE), ("policy_url", url), ("policy_api_key", KEY), ("record", "none")];
    [&own, more].concat()
}

/// The files below `folder` that hold `text`.
fn files_with(text: &str, folder: &Path) -> Vec<PathBuf> {
    let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(text, &path));
        } else if fs::read(&path).is_ok_and(|bytes| holds(&bytes)) {
            found.push(path);
        }
    }
    found
}

fn call(assay: &Assay, id: &str) -> PathBuf {
    assay.path("data/servers").join(format!("{id}.json"))
}

#[track_caller]
fn safe(job: &JobReport) {
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
}

#[test]
fn a_policy_server_gets_its_verdict_over_http() {
    let assay = assay();
    let (server, client) = open_service(&assay);
    // The allowed number of episodes run at the same time even with one lane: the server answers only once three ask.
    let policy = policy_server(&["--key", KEY, "--together", "3"]);
    let url = format!("ws://me:{KEY}@127.0.0.1:{}/?token={KEY}", policy.port());
    let wish = parts(&url, &[("num_episodes", "3"), ("policy_concurrency", "3"), ("replan_steps", "5")]);
    let id = client.verify_server(&wish);
    let job = client.ended_job(&id, JOB_LIMIT);
    let _ = policy.wait_for("together 3");
    safe(&job);
    assert_eq!((job.policy_identity, &job.policy_sha256, job.replan_steps), (PolicyIdentity::Declared, &None, Some(5)));
    assert!(job.needs_review && job.review_reasons.contains(&ReviewReason::DeclaredIdentity));
    assert_eq!(job.policy_name, format!("ws://127.0.0.1:{}/", policy.port()));
    // The key does not appear anywhere: not in the records, the report, the statement, the log, or an answer.
    let answers = [format!("/verify/{id}"), format!("/verify/{id}/report.json"), "/verify".to_owned()];
    for answer in answers.map(|path| client.get(&path)) {
        assert!(answer.status == 200 && !answer.body.to_string().contains(KEY), "{}", answer.body);
    }
    assert!(!call(&assay, &id).exists());
    assert!(!server.log().contains(KEY) && server.log().contains(&id), "{}", server.log());
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assert_eq!(files_with(KEY, &assay.path("")), Vec::<PathBuf>::new());
}

#[test]
fn a_job_of_a_policy_server_survives_a_restart_with_its_key() {
    let assay = assay();
    let (server, client) = open_service(&assay);
    let policy = policy_server(&["--key", KEY, "--delay-ms", "2"]);
    let url = format!("ws://127.0.0.1:{}", policy.port());
    let id = client.verify_server(&parts(&url, &[("num_episodes", "5")]));
    wait_for("a first episode", JOB_LIMIT, || (client.job(&id).progress.episodes_done > 0).then_some(()));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&call(&assay, &id)), mode(&assay.path("data/servers"))), (0o600, 0o700));
    assert_eq!(files_with(KEY, &assay.path("")), [call(&assay, &id)], "in one place, and not in the database");
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
    let (_server, client) = open_service(&assay);
    let job = client.ended_job(&id, JOB_LIMIT);
    safe(&job);
    assert_eq!(job.episode_details.len(), 5);
    assert_eq!(files_with(KEY, &assay.path("")), Vec::<PathBuf>::new());
}

#[test]
fn a_key_is_removed_with_a_cancelled_job_and_with_a_request_that_never_became_a_job() {
    let assay = assay();
    let (server, client) = open_service(&assay);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let id = client.verify_server(&parts(&url, &[("num_episodes", "50")]));
    wait_for("a job that runs", JOB_LIMIT, || (client.job(&id).status == JobStatus::Running).then_some(()));
    // Its server does not delay other jobs, although there is only one lane.
    let zip = zip_folder(&example(CARTPOLE, "idle"));
    let parts = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "none")];
    let other = client.ended_job(&client.verify(&zip, &parts), JOB_LIMIT);
    assert_eq!((other.status, client.job(&id).status), (JobStatus::Completed, JobStatus::Running));
    assert!(call(&assay, &id).exists());
    assert_eq!(client.post(&format!("/verify/{id}/cancel")).status, 200);
    assert!(!call(&assay, &id).exists());
    // A service that dies between storing the credentials and accepting the job leaves credentials without a job.
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    let orphan = assay.write("data/servers/01936f3c-8d2e-7c41-9f0a-5b6c7d8e9f01.json", KEY);
    let _server = open_service(&assay);
    wait_for("the end of an orphan", JOB_LIMIT, || (!orphan.exists()).then_some(()));
}

#[test]
fn a_key_in_a_servers_message_is_redacted() {
    let assay = assay();
    let (_server, client) = open_service(&assay);
    let policy = policy_server(&["--key", KEY, "--leak"]);
    let url = format!("ws://127.0.0.1:{}", policy.port());
    let job = client.ended_job(&client.verify_server(&parts(&url, &[("num_episodes", "1")])), JOB_LIMIT);
    let message = job.error_message.as_ref().unwrap();
    assert!(message.contains("PermissionError: the key [secret] has no credit left"), "{message}");
    assert_eq!(job.episode_details[0].error.as_ref().unwrap().log_tail.matches("[secret]").count(), 1);
    wait_for("the end of the key", JOB_LIMIT, || files_with(KEY, &assay.path("")).is_empty().then_some(()));
}

#[test]
fn a_preflight_is_answered_while_the_client_waits() {
    let assay = assay();
    let (server, client) = open_service(&assay);
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    let found = client.try_form("/preflight", Some(&zip), &[("scenario", CARTPOLE)]).unwrap();
    assert_eq!(
        (found.status, &found.body["holds"], &found.body["steps"]),
        (200, &true.into(), &25.into()),
        "{}",
        found.body
    );
    let policy = policy_server(&["--key", KEY, "--horizon", "3"]);
    let url = format!("ws://127.0.0.1:{}", policy.port());
    let served = client.try_form("/preflight", None, &parts(&url, &[])).unwrap();
    assert_eq!((served.status, &served.body["answers"]["longest"]), (200, &3.into()), "{}", served.body);
    let broken = zip_folder(&example(CARTPOLE, "reference"))[..100].to_vec();
    let refused = client.try_form("/preflight", Some(&broken), &[("scenario", CARTPOLE)]).unwrap();
    assert_eq!((refused.status, refused.body["error"]["details"]["field"].as_str()), (400, Some("policy")));
    assert_eq!(client.get("/verify").body["total"], 0);
    assert!(!served.body.to_string().contains(KEY) && !server.log().contains(KEY));
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
    assert_eq!(files_with(KEY, &assay.path("")), Vec::<PathBuf>::new());
}

#[test]
fn only_what_the_operator_opened_is_called() {
    let (_server, Account { client, .. }) = shared_server("default");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let [literal, metadata, name] =
        [format!("http://127.0.0.1:{port}"), "http://169.254.169.254".to_owned(), format!("ws://localhost:{port}")];
    let refused = [&literal, &metadata].map(|url| {
        let answer = client.try_form("/verify", None, &parts(url, &[])).unwrap();
        assert_eq!((answer.status, answer.body["error"]["details"]["field"].as_str()), (400, Some("policy_url")));
        answer.body["error"]["message"].as_str().unwrap().to_owned()
    });
    // The message is the same in all cases, also after a look-up, so that the service is not a port scanner.
    let job = client.ended_job(&client.verify_server(&parts(&name, &[("num_episodes", "1")])), JOB_LIMIT);
    assert_eq!(job.verdict, Some(Verdict::Inconclusive));
    assert_eq!([job.error_message.as_ref(), Some(&refused[1])], [Some(&refused[0]), Some(&refused[0])]);
    assert!(refused[0].contains("--policy-networks"), "{}", refused[0]);
    assert!(listener.accept().is_err(), "somebody connected");
    // Opened networks do not include addresses that are never open.
    let other = assay();
    let (_server, client) = {
        let server = other.serve(&other.path("data"), &["--policy-networks", "0.0.0.0/0", "--policy-networks", "::/0"]);
        let key = fs::read_to_string(other.path("data/bootstrap-key")).unwrap();
        let client = server.client(&key);
        (server, client)
    };
    let answer = client.try_form("/verify", None, &parts(&metadata, &[])).unwrap();
    assert_eq!((answer.status, answer.body["error"]["details"]["field"].as_str()), (400, Some("policy_url")));
}
