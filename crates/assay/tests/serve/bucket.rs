//! Evidence and archives in a bucket: a real S3 server, behind a proxy that breaks connections.

use std::fs;
use std::time::Duration;

use assay_model::{JobStatus, Sha256Digest, Verdict};
use assay_testkit::{
    Assay, Client, HttpFault, HttpFaultProxy, PATIENCE, S3Server, Server, example, wait_for, zip_folder,
};
use rustix::process::Signal;
use serde_json::json;

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, assay};

const BUCKET: &str = "s3://evidence/lab";
const TOKEN: &str = "assay-test-token-16180339";
/// Maximum time of a job that meets outages.
const LIMIT: Duration = PATIENCE;
/// Claims of a shard in each outage; together more than the failures after which its job FAILS.
const CLAIMS: usize = 3;

/// Returns the program with the variables of a client of the server at `address`.
fn with_variables(address: &str) -> Assay {
    S3Server::variables(address).iter().fold(assay(), |assay, (name, value)| assay.with_variable(name, value))
}

fn serve(assay: &Assay, lanes: &str, more: &[&str]) -> (Server, Client) {
    let arguments = ["--blobs", BUCKET, "--lanes", lanes];
    let server = assay.serve(&assay.path("data"), &[&arguments, more].concat());
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    (server, client)
}

fn verify(client: &Client) -> String {
    let zip = zip_folder(&example(CARTPOLE, "reference"));
    client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")])
}

#[test]
fn a_job_runs_with_its_files_in_a_bucket() {
    let s3 = S3Server::start();
    let assay = with_variables(s3.address()).with_variable("AWS_SESSION_TOKEN", TOKEN);
    let (server, client) = serve(&assay, "2", &["--log-level", "trace"]);
    let id = verify(&client);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    let of_job = format!("lab/jobs/{id}/");
    let count = |prefix: &str| s3.keys().iter().filter(|key| key.starts_with(prefix)).count();
    assert_eq!((count(&of_job) > 3, count("lab/policies/"), count("lab/jobs/")), (true, 1, count(&of_job)));
    assert!(s3.keys().iter().any(|key| key.ends_with(".pack")), "{:?}", s3.keys());
    for (folder, files) in [("data/policies", 0), ("data/blobs", 1)] {
        assert_eq!(fs::read_dir(assay.path(folder)).unwrap().count(), files, "{folder}");
    }
    for file in job.episode_details.iter().flat_map(|episode| &episode.evidence) {
        let url = job.evidence_url(file).unwrap();
        let content = client.download(url);
        assert_eq!((Sha256Digest::of(&content), content.len() as u64), (file.sha256, file.size_bytes), "{}", file.name);
        assert_eq!(client.download_range(url, 10, 19), content[10..20], "{}", file.name);
    }
    let replay = client.post(&format!("/verify/{id}/replay"));
    assert_eq!((replay.status, &replay.body["same"]), (200, &json!(true)), "{}", replay.text);

    let metrics = client.text("/metrics");
    let size = metrics.lines().find_map(|line| line.strip_prefix("assay_evidence_bytes ")).unwrap();
    assert!(size.parse::<f64>().unwrap() > 1000., "as recorded: {size}");

    let backup = assay.run(&["backup", "copy", "--data", "data"]);
    assert_eq!(backup.code, 0, "{backup:?}");
    let checked = assay.run(&["backup", "--check", "copy"]);
    assert!(checked.code == 0 && checked.stdout.contains("no problems found"), "{checked:?}");
    assert_eq!(fs::read_to_string(assay.path("copy/bucket")).unwrap().trim(), BUCKET);
    assert!(!assay.path("copy/blobs").exists() && !assay.path("copy/policies").exists());

    for secret in [S3Server::SECRET_KEY, TOKEN] {
        assert!(!server.log().contains(secret), "a secret in the log");
    }

    // The same files after a restart; without the bucket the server does not start.
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    let without = assay.begin_serving(&assay.path("data"), &[]).wait(STOP_LIMIT);
    assert!(without.code != 0 && without.stderr.contains(&format!("is in {BUCKET}: set blobs.url")), "{without:?}");
    let (server, client) = serve(&assay, "2", &[]);
    let job = client.job(&id);
    assert!(!client.download(job.evidence_url(&job.episode_details[0].evidence[0]).unwrap()).is_empty());
    assert_eq!(client.delete(&format!("/verify/{id}")).status, 204);
    assert_eq!(count(&of_job), 0, "{:?}", s3.keys());
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}

#[test]
fn a_server_without_lanes_leaves_episodes_to_workers() {
    let s3 = S3Server::start();
    let assay = with_variables(s3.address());
    let (server, client) = serve(&assay, "0", &[]);
    let id = verify(&client);
    assert!(client.text("/metrics").contains("assay_lanes 0\n"));
    let created = assay.run(&["workers", "create", "first", "--data", "data"]);
    assert_eq!(created.code, 0, "{created:?}");
    assay.write("token", &created.stdout);
    let address = format!("http://{}", server.address());
    let worker =
        assay.start(&["worker", "--server", &address, "--token-file", "token", "--lanes", "1", "--cache", "cache"]);
    let job = client.ended_job(&id, LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    assert!(s3.keys().iter().any(|key| key.starts_with(&format!("lab/jobs/{id}/"))), "{:?}", s3.keys());
    for file in job.episode_details.iter().flat_map(|episode| &episode.evidence) {
        assert_eq!(Sha256Digest::of(client.download(job.evidence_url(file).unwrap())), file.sha256, "{}", file.name);
    }
    worker.signal(Signal::TERM);
    let ended = worker.wait(LIMIT);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}

#[test]
fn an_outage_of_the_bucket_delays_jobs_and_fails_none() {
    let s3 = S3Server::start();
    let proxy = HttpFaultProxy::start(s3.address());
    let assay = with_variables(proxy.address());
    let (server, client) = serve(&assay, "2", &["--log-level", "info"]);
    let id = verify(&client);
    let claims = || server.log().lines().filter(|line| line.contains("shard claimed")).count();
    // Everything fails; then only what is larger than a request without a body: uploads of evidence.
    for fault in [HttpFault::Answer(500, "InternalError"), HttpFault::Cut(8 << 10)] {
        proxy.set(fault);
        let before = claims();
        wait_for("claims in an outage", LIMIT, || (claims() >= before + CLAIMS).then_some(()));
        let metrics = client.text("/metrics");
        assert!(!metrics.contains("assay_lanes_wanted 0\n"), "a shard waits or runs: {metrics}");
        let waiting = client.job(&id);
        assert!([JobStatus::Queued, JobStatus::Running].contains(&waiting.status), "{:?}", waiting.status);
    }
    proxy.set(HttpFault::Answer(503, "SlowDown"));
    let refused = client.try_verify(&zip_folder(&example(CARTPOLE, "idle")), &[("scenario", CARTPOLE)]).unwrap();
    assert_eq!((refused.status, &refused.body["error"]["code"]), (503, &json!("UNAVAILABLE")), "{}", refused.text);
    proxy.set(HttpFault::Slow(Duration::from_millis(20)));
    let job = client.ended_job(&id, LIMIT);
    assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Safe)), "{:?}", job.error_message);
    let replaced = &job.replaced_attempts;
    assert!(!replaced.is_empty() && replaced.len() < claims(), "once for each claim that failed: {replaced:?}");
    let log = server.log();
    let failures: Vec<_> = log.lines().filter(|line| line.contains("files cannot be stored")).collect();
    assert!(!failures.is_empty() && failures[0].contains("the object store"), "{log}");
    assert_eq!(log.lines().filter(|line| line.contains(" ERROR ")).count(), failures.len(), "{log}");
    assert!(!log.contains("backing off"), "no line for each request that is repeated: {log}");
    for file in job.episode_details.iter().flat_map(|episode| &episode.evidence) {
        assert_eq!(Sha256Digest::of(client.download(job.evidence_url(file).unwrap())), file.sha256, "{}", file.name);
    }
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
}

#[test]
fn a_check_tries_the_bucket() {
    let s3 = S3Server::start();
    let assay = with_variables(s3.address());
    let check = ["serve", "--check", "--connect", "--data", "data", "--blobs", BUCKET];
    let works = assay.run(&check);
    assert!(works.code == 0 && works.stdout.contains("blobs.url = s3://evidence/lab: works"), "{works:?}");
    assert_eq!(s3.keys(), [] as [&str; 0], "nothing is left");
    let wrong = with_variables(s3.address()).with_variable("AWS_SECRET_ACCESS_KEY", "wrong");
    let refused = wrong.run(&check);
    let expected = "change AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY";
    assert!(refused.code == 1 && refused.stdout.contains(expected), "{refused:?}");
    let json = wrong.run(&[&check[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&json["engines"][0]["works"], &json["engines"][0]["setting"]), (&json!(false), &json!("blobs.url")));
    let usage = assay.run(&["serve", "--check", "--data", "data", "--blobs", "evidence/lab"]);
    assert!(usage.code == 2 && usage.stderr.contains("blobs.url = \"evidence/lab\": must be s3://BUCKET"), "{usage:?}");
}
