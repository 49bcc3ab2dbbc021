//! Evidence is stored compressed, and complete for clients.

use std::fs;
use std::process::Command;

use assay_model::{JobStatus, Sha256Digest};
use assay_testkit::{Account, example, home, wait_for, zip_folder};
use serde_json::json;

use crate::serve::{JOB_LIMIT, assay, replay, shared_server};

const SCENARIO: &str = "tabletop_reach";
const EPISODES: usize = 2;
/// Maximum disk usage of an episode without images, in bytes; its files have over 2,000,000.
const MAX_EPISODE_BYTES: u64 = 600_000;

#[test]
fn an_episode_is_stored_compressed_and_returned_unchanged() {
    let assay = assay();
    let (server, Account { client, .. }) = shared_server("default");
    let parts = [("scenario", SCENARIO), ("num_episodes", "2"), ("seed", "0"), ("record", "none")];
    let id = client.verify(&zip_folder(&example(SCENARIO, "reference")), &parts);
    let job = client.ended_job(&id, JOB_LIMIT);
    assert_eq!((job.status, job.episode_details.len()), (JobStatus::Completed, EPISODES), "{:?}", job.error_message);

    let kept = || {
        let files = fs::read_dir(server.data().join("blobs/jobs").join(&id)).unwrap();
        files.map(|entry| entry.unwrap().metadata().map_or(0, |about| about.len())).sum::<u64>()
    };
    // After the verdict.
    let is_small = || (kept() <= MAX_EPISODE_BYTES * EPISODES as u64).then_some(());
    wait_for("small evidence", JOB_LIMIT, is_small);

    for file in job.episode_details.iter().flat_map(|episode| &episode.evidence) {
        let url = job.evidence_url(file).unwrap();
        let content = client.download(url);
        let sha256 = Sha256Digest::of(&content);
        assert_eq!((sha256, content.len() as u64), (file.sha256, file.size_bytes), "{}", file.name);
        assert_eq!(client.download_range(url, 100, 219), content[100..220], "{}", file.name);
        assay.write(&format!("out/{}", file.name), content);
    }
    for name in ["scenario.toml", "scene.xml"] {
        assay.write(
            &format!("out/scenario/{name}"),
            fs::read(home().join("scenarios").join(SCENARIO).join(name)).unwrap(),
        );
    }
    let model = Sha256Digest::of(fs::read(assay.path("out/episodes/001/model.mjb")).unwrap());
    let mut python = Command::new(home().join("vendor/dev-venv/bin/python"));
    python.arg(home().join("docs/replay.py")).arg(assay.path("out/episodes/001")).env_remove("GLIBC_TUNABLES");
    python.args(["--model-sha256", &model.to_string()]);
    let output = python.output().expect("vendor/dev-venv is made by tools/setup --dev");
    let hash = job.episode_details[1].trace_hash.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("bit-identical, trace hash {hash}"));
    let replay = replay(&client, &format!("/verify/{id}/replay"), &json!({}));
    assert_eq!((replay.status, &replay.body["same"]), (200, &json!(true)), "{}", replay.text);
}
