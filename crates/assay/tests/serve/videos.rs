//! Videos follow the verdict: they do not delay it, survive a kill, and are removed with their job.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use assay_model::{Artifact, JobReport, JobStage, JobStatus, Sha256Digest, Verdict};
use assay_testkit::{Assay, Client, Jailed, PATIENCE, ServedJob, archive, wait_for};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::serve::{CARTPOLE, JOB_LIMIT, STOP_LIMIT, VIDEO_LIMIT, assay, drawn_job, serve};

const EPISODES: u32 = 2;
/// Maximum time for a renderer or files to disappear.
const GONE_LIMIT: Duration = PATIENCE;
/// Pushes the cart over its limit, then stops after half a simulated second: each episode has a violation, and few
/// frames.
const RECKLESS: &[u8] = b"import numpy as np\n\ndef policy(observation):\n    if observation['time'] > 1.5:\n        raise RuntimeError('seen enough')\n    return np.array([12.0])\n";

fn submit(client: &Client) -> String {
    let zip = archive(&[("policy.py", RECKLESS)]);
    client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2"), ("seed", "1"), ("record", "all")])
}

/// Returns the job right after its verdict, before anything is rendered.
#[track_caller]
fn judged(client: &Client, id: &str) -> ServedJob {
    let job = client.ended_job(id, JOB_LIMIT);
    assert_eq!((job.status, job.progress.episodes_done), (JobStatus::Completed, EPISODES), "{:?}", job.error_message);
    assert_eq!((job.progress.stage, job.progress.videos_total), (JobStage::Rendering, EPISODES));
    assert_eq!((job.progress.videos_done, job.url("/video_url")), (0, None), "the verdict waits for no video");
    job
}

fn is_renderer(jailed: &Jailed) -> bool {
    jailed.command.starts_with("/assay/assay-lane render")
}

fn blobs(assay: &Assay, id: &str) -> PathBuf {
    assay.path("data/blobs/jobs").join(id)
}

/// Checks that the data folder contains only the files that the job refers to.
#[track_caller]
fn nothing_else_is_kept(assay: &Assay, job: &JobReport) {
    let mut listed: Vec<_> =
        job.episode_details.iter().flat_map(|episode| &episode.evidence).map(|file| file.sha256.to_string()).collect();
    listed.sort();
    listed.dedup();
    let kept = fs::read_dir(blobs(assay, &job.job_id.to_string())).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    // A packed file is also named by the hash of its unpacked content.
    let mut kept: Vec<_> = kept.map(|entry| name(entry).trim_end_matches(".pack").to_owned()).collect();
    kept.sort();
    // A file that is being packed briefly has two names.
    kept.dedup();
    assert_eq!(kept, listed);
}

#[test]
fn the_verdict_does_not_wait_for_videos_and_stays_as_signed() {
    let assay = assay();
    let (_server, client) = serve(&assay);
    let id = submit(&client);
    let before = judged(&client, &id);
    assert_eq!(before.verdict, Some(Verdict::Unsafe), "the scenario has changed: nothing is violated");
    let signed = ["report.json", "attestation"].map(|name| client.get(&format!("/verify/{id}/{name}")).text);
    let report: Value = serde_json::from_str(&signed[0]).unwrap();
    assert_eq!((&report["progress"]["stage"], &report["video_url"]), (&json!("done"), &Value::Null));
    assert!(!signed[0].contains("video.mp4") && !signed[0].contains("log.mcap"), "what is not there is not signed");

    let after = drawn_job(&client, &id);
    assert_eq!(after.progress.videos_done, EPISODES);
    assert!(after.url("/video_url").is_some());
    assert_eq!(["report.json", "attestation"].map(|name| client.get(&format!("/verify/{id}/{name}")).text), signed);
    for (index, episode) in after.episode_details.iter().enumerate() {
        let file = |name: &str| episode.evidence.iter().find(|file| file.name.ends_with(name)).unwrap();
        assert_eq!(episode.evidence.len(), 13, "{:?}", episode.evidence_notes);
        assert!(client.download(after.episode_url(index, "log_url").unwrap()).starts_with(b"\x89MCAP0\r\n"));
        let envelope = client.download(after.evidence_url(file("video.intoto.json")).unwrap());
        let envelope: Value = serde_json::from_slice(&envelope).unwrap();
        let payload = BASE64_STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
        let statement: Value = serde_json::from_slice(&payload).unwrap();
        let about = &statement["predicate"];
        assert_eq!((&about["jobId"], &about["episode"]), (&json!(id), &json!(episode.episode)));
        assert_eq!(about["statement"]["digest"]["sha256"], json!(Sha256Digest::of(&signed[1])));
        assert_eq!(about["recording"]["sha256"], json!(file("trace.parquet").sha256));
        let signed: Vec<_> = statement["subject"].as_array().unwrap().iter().map(|file| &file["name"]).collect();
        assert_eq!(signed, ["clip.mp4", "images.mcap", "still.png", "video.mp4"]);
        for subject in statement["subject"].as_array().unwrap() {
            let name = subject["name"].as_str().unwrap();
            assert_eq!(subject["digest"]["sha256"], json!(file(name).sha256), "{name}");
        }
        let bytes = client.download(after.episode_url(index, "video_url").unwrap());
        assert_eq!(Sha256Digest::of(&bytes), file("video.mp4").sha256);
    }
    nothing_else_is_kept(&assay, &after);
    // The list contains the same videos, and the page shows them.
    assert_eq!(client.get("/verify").body["jobs"][0]["progress"]["stage"], "done");
    assert!(client.text(&format!("/verify/{id}/report")).contains("<video"));
}

#[test]
fn a_killed_server_continues_rendering_after_its_next_start() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let id = submit(&client);
    judged(&client, &id);
    wait_for("a renderer", JOB_LIMIT, || assay.jailed().iter().any(is_renderer).then_some(()));
    drop(server.stop(Signal::KILL, STOP_LIMIT));
    wait_for("the end of its renderers", GONE_LIMIT, || assay.jailed().is_empty().then_some(()));
    let (server, _client) = serve(&assay);
    wait_for("a renderer", JOB_LIMIT, || assay.jailed().iter().any(is_renderer).then_some(()));
    // A server that is stopped orderly returns the rendering at once.
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
    assay.assert_clean();
    let (_server, client) = serve(&assay);
    let job = drawn_job(&client, &id);
    for (index, episode) in job.episode_details.iter().enumerate() {
        assert!(job.episode_url(index, "video_url").is_some() && episode.evidence.len() == 13);
    }
    nothing_else_is_kept(&assay, &job);
}

#[test]
fn an_erased_job_is_not_rendered() {
    let assay = assay();
    let (_server, client) = serve(&assay);
    let id = submit(&client);
    judged(&client, &id);
    wait_for("a renderer", JOB_LIMIT, || assay.jailed().iter().any(is_renderer).then_some(()));
    assert_eq!(client.delete(&format!("/verify/{id}")).status, 204);
    wait_for("the end of its renderers", GONE_LIMIT, || (!assay.jailed().iter().any(is_renderer)).then_some(()));
    wait_for("the end of its files", GONE_LIMIT, || (!blobs(&assay, &id).exists()).then_some(()));
    assert_eq!(client.get(&format!("/verify/{id}")).status, 410);
    let db = rusqlite::Connection::open(assay.path("data/assay.db")).unwrap();
    assert_eq!(db.query_row("SELECT count(*) FROM renders", [], |row| row.get::<_, u32>(0)).unwrap(), 0);
}

#[test]
fn a_video_that_can_not_be_rendered_leaves_a_note_and_can_be_requested_again() {
    let assay = assay();
    let (server, client) = serve(&assay);
    let id = submit(&client);
    let before = judged(&client, &id);
    let traces: Vec<_> = before.episode_details.iter().flat_map(|episode| &episode.evidence).collect();
    let traces: Vec<_> = traces.into_iter().filter(|file| file.name.ends_with("trace.parquet")).collect();
    let plain = |file: &Artifact| blobs(&assay, &id).join(file.sha256.to_string());
    let place = |file: &Artifact| plain(file).with_extension("pack");
    wait_for("packed recordings", JOB_LIMIT, || {
        traces.iter().all(|file| place(file).exists() && !plain(file).exists()).then_some(())
    });
    let good: Vec<_> = traces.iter().map(|file| fs::read(place(file)).unwrap()).collect();
    for file in &traces {
        fs::write(place(file), b"no recording").unwrap();
    }
    // A renderer that already has the recording is killed, which also counts as a failure.
    let job = wait_for("the end of the retries", VIDEO_LIMIT, || {
        assay.jailed().iter().filter(|jailed| is_renderer(jailed)).for_each(Jailed::kill);
        Some(client.job(&id)).filter(|job| job.progress.stage == JobStage::Done)
    });
    assert_eq!((job.status, job.verdict, job.url("/video_url")), (before.status, before.verdict, None));
    for episode in &job.episode_details {
        let note = "the video is missing: it could not be rendered".to_owned();
        assert!(episode.evidence_notes.contains(&note), "{:?}", episode.evidence_notes);
    }
    let tries = server.log().matches("rendering failed").count();
    assert!(tries <= 2 * 2 * 4, "{tries} tries");

    for (file, good) in traces.iter().zip(good) {
        fs::write(place(file), good).unwrap();
    }
    let asked = assay.run(&["render", id.as_str(), "--data", "data", "--record", "all"]);
    assert_eq!((asked.code, asked.stdout.contains("2 episodes are queued")), (0, true), "{}", asked.stderr);
    let job = drawn_job(&client, &id);
    for (index, episode) in job.episode_details.iter().enumerate() {
        assert!(job.episode_url(index, "video_url").is_some() && episode.evidence_notes.is_empty());
    }
    let again = assay.run(&["render", id.as_str(), "--data", "data", "--record", "all"]);
    assert!(again.stdout.contains("nothing is missing"), "{}{}", again.stdout, again.stderr);
}
