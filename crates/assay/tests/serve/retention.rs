//! Files that a server removes by itself: old evidence, evidence beyond the limit, and leftovers of a killed server.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assay_model::JobReport;
use assay_testkit::{Assay, Client, PATIENCE, ServedJob, Server, archive, wait_for};
use rustix::process::Signal;
use serde_json::json;

use crate::serve::{CARTPOLE, STOP_LIMIT, assay, drawn_job, serve};

/// Maximum time for the clean-up, which takes a fraction of a second.
const LIMIT: Duration = PATIENCE;
/// Runs for one simulated second, because rendering is slow.
const SHORT: &[u8] =
    b"def policy(observation):\n    if observation['time'] > 1.0:\n        raise RuntimeError('enough')\n    return [0]\n";

/// Runs a job of one short episode with a video to its end.
fn filmed(client: &Client) -> ServedJob {
    let parts = [("scenario", CARTPOLE), ("num_episodes", "1"), ("record", "all")];
    let id = client.verify(&archive(&[("policy.py", SHORT)]), &parts);
    let job = drawn_job(client, &id);
    assert!(client.download(job.url("/video_url").unwrap()).len() > 1000);
    job
}

/// Restarts the server with these settings of `[retention]`.
fn again(assay: &Assay, server: Server, settings: &[&str]) -> (Server, Client) {
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    let more: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let server =
        assay.serve(&assay.path("data"), &[&["--lanes", "1", "--set", "retention.every_s=0.1"], &*more].concat());
    let client = server.client(&fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    (server, client)
}

/// Returns the number of files in a folder, which need not exist.
fn files(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

fn gone(client: &Client, path: &str) {
    let answer = client.get(path);
    assert_eq!((answer.status, &answer.body["error"]["code"]), (410, &json!("GONE")), "{path}: {}", answer.body);
}

#[test]
fn old_evidence_is_removed_and_the_record_stays() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let before = filmed(&client);
    let id = before.job_id.to_string();
    let path = format!("/verify/{id}");
    let report = client.get(&format!("{path}/report.json")).text;
    let evidence = assay.path("data/blobs/jobs").join(&id);
    assert!(files(&evidence) > 3);
    // An archive without a job, as left by a server that was killed in between.
    assay.write(&format!("data/policies/{}.zip", "0".repeat(64)), b"PK");
    // About a second each.
    let (_server, client) =
        again(&assay, server, &["retention.evidence_days=0.00001", "retention.policy_days=0.00001"]);
    wait_for("evidence and archives that are gone", LIMIT, || {
        (files(&evidence) == 0 && files(&assay.path("data/policies")) == 0).then_some(())
    });
    for field in ["/video_url", "/episode_details/0/log_url"] {
        gone(&client, before.url(field).unwrap());
    }
    let replay = client.post(&format!("{path}/replay"));
    assert_eq!(replay.status, 410, "{}", replay.body);
    let job = client.job(&id);
    assert!(job.evidence_removed_at.is_some() && job.url("/video_url").is_none());
    assert!(job.episode_details[0].evidence.iter().all(|file| job.evidence_url(file).is_none()));
    assert_eq!((job.status, job.verdict, job.score), (before.status, before.verdict, before.score));
    assert_eq!(client.get(&format!("{path}/report.json")).text, report, "the report stays");
    assert_eq!(client.get(&format!("{path}/attestation")).status, 200);
    assert!(client.text(&format!("{path}/report")).contains(&before.policy_name));

    // The owner erases the remaining files.
    assert_eq!(client.delete(&path).status, 204);
    for below in ["", "/report", "/report.json", "/attestation", "/episodes", "/archive"] {
        gone(&client, &format!("{path}{below}"));
    }
    let listed = client.get("/verify").body["jobs"][0].clone();
    assert_eq!((&listed["job_id"], &listed["verdict"]), (&json!(id), &json!(before.verdict)));
    assert!(listed["erased_at"].is_string(), "{listed}");
}

#[test]
fn the_oldest_evidence_is_removed_beyond_the_limit() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let (old, new) = (filmed(&client), filmed(&client));
    let evidence = |job: &JobReport| assay.path("data/blobs/jobs").join(job.job_id.to_string());
    // The size of a longer job.
    fs::write(evidence(&old).join("f".repeat(64)), vec![0; 2 << 20]).unwrap();
    let (_server, client) = again(&assay, server, &["retention.evidence_max_mib=1"]);
    wait_for("the old job's evidence that is gone", LIMIT, || (files(&evidence(&old)) == 0).then_some(()));
    gone(&client, old.url("/video_url").unwrap());
    let job = client.job(&old.job_id.to_string());
    assert!(job.evidence_removed_at.is_some());
    assert_eq!((job.status, job.verdict), (old.status, old.verdict));
    let job = client.job(&new.job_id.to_string());
    assert_eq!((job.evidence_removed_at, files(&evidence(&new)) > 3), (None, true));
    assert!(client.download(new.url("/video_url").unwrap()).len() > 1000);
}
