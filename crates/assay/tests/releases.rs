//! The current programs on data folders and reports that earlier releases wrote (`fixtures/releases`).

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_model::{JobReport, JobStatus, Sha256Digest};
use assay_testkit::{Assay, Client, PATIENCE, Postgres, Server, home, wait_for};
use rustix::process::Signal;
use serde_json::{Value, json};

const SCENARIO: &str = "cartpole_keepin";
/// Parts of a fingerprint that the physics and the policy depend on.
const PHYSICS: [&str; 6] = ["mujoco", "libmujoco_sha256", "cpu_features", "glibc", "numpy", "blas_core"];

/// The files written by a release, in a separate folder.
struct Release {
    assay: Assay,
    version: String,
    /// Ids and answers of the release.
    made: Value,
}

impl Release {
    /// Unpacks every release's fixture.
    fn all() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/releases");
        let found = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        let releases: Vec<_> = found.map(|path| Self::unpack(&path)).collect();
        assert!(!releases.is_empty());
        releases
    }

    fn unpack(folder: &Path) -> Self {
        let assay = Assay::new(env!("CARGO_BIN_EXE_assay"));
        let mut tar = Command::new("tar");
        tar.arg("xzf").arg(folder.join("release.tar.gz")).arg("--no-same-owner").arg("-C").arg(assay.path("."));
        assert!(tar.status().unwrap().success());
        let made = serde_json::from_slice(&fs::read(assay.path("made.json")).unwrap()).unwrap();
        Self { assay, version: folder.file_name().unwrap().to_string_lossy().into_owned(), made }
    }

    fn job(&self, name: &str) -> &str {
        self.made["jobs"][name].as_str().unwrap()
    }

    fn serve(&self) -> (Server, Client) {
        let server = self.assay.serve(&self.assay.path("data"), &["--lanes", "2"]);
        let client = server.client(&fs::read_to_string(self.assay.path("data/bootstrap-key")).unwrap());
        (server, client)
    }
}

fn path(place: &Path) -> &str {
    place.to_str().unwrap()
}

fn script(name: &str, folder: &Path) -> (Option<i32>, String) {
    let mut python = Command::new(home().join("vendor/dev-venv/bin/python"));
    python.arg(home().join("docs").join(name)).arg(folder).arg("--trust-model").env_remove("GLIBC_TUNABLES");
    let output = python.output().expect("vendor/dev-venv is made by tools/setup --dev");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn reports_of_earlier_releases_are_read_checked_and_replayed() {
    for Release { assay, version, .. } in Release::all() {
        for (name, verdict) in [("safe", "SAFE"), ("unsafe", "UNSAFE")] {
            let (out, policy) = (assay.path(name), assay.path(&format!("{name}-policy")));
            let statement = out.join("report.intoto.json");
            let signing = assay.path("signing");
            let options = ["--policy", path(&policy), "--signing-keys", path(&signing)];
            let attest = assay.run(&[&["attest", "verify", path(&statement)], &options[..]].concat());
            assert_eq!(attest.code, 0, "{version}, {name}: {}{}", attest.stdout, attest.stderr);
            assert!(attest.stdout.contains(&format!("verdict    {verdict}")), "{version}: {}", attest.stdout);

            let report = out.join("report.json");
            let replay = assay.run(&["replay", path(&report), "--policy", path(&policy), "--json"]);
            replays(&version, &serde_json::from_str(&replay.stdout).unwrap_or_default(), &replay.stderr);

            let (code, text) = script("recompute.py", &out);
            assert_eq!(code, Some(0), "{version}, {name}: {text}");
            let (code, text) = script("replay.py", &out.join("episodes/000"));
            assert_eq!(code, Some(0), "{version}, {name}: {text}");
        }
        assay.assert_clean();
    }
}

/// Checks that a replay is bit-identical, unless the fingerprint of this machine differs.
fn replays(version: &str, found: &Value, stderr: &str) {
    let differences = found["fingerprint_differences"].as_array().unwrap_or_else(|| panic!("{version}: {stderr}"));
    let physics = differences.iter().any(|difference| PHYSICS.contains(&difference["name"].as_str().unwrap()));
    assert!(physics || found["same"] == json!(true), "{version}: {found}");
}

#[test]
fn a_data_folder_of_an_earlier_release_can_be_used() {
    for release in Release::all() {
        let (server, client) = release.serve();
        let version = &release.version;
        completed_job_is_as_it_was(&release, &client);
        assert_eq!(client.job(release.job("cancelled")).status, JobStatus::Cancelled, "{version}");
        for name in ["interrupted", "queued"] {
            let job = client.ended_job(release.job(name), PATIENCE);
            assert_eq!(job.status, JobStatus::Completed, "{version}, {name}: {:?}", job.error_message);
            assert_eq!(job.episode_details.len(), 2, "{version}, {name}");
        }
        season_closes(&release, &client);
        let stopped = server.stop(Signal::TERM, PATIENCE);
        assert_eq!(stopped.code, 0, "{version}: {}", stopped.stderr);
        release.assay.assert_clean();
    }
}

/// Checks that its numbers are those of the release, and that every file of its evidence can be downloaded.
fn completed_job_is_as_it_was(release: &Release, client: &Client) {
    let (id, version) = (release.job("completed"), &release.version);
    let now = client.get(&format!("/verify/{id}")).body;
    let then = &release.made["report"];
    for field in ["status", "verdict", "score", "seed", "policy_sha256", "completed_at"] {
        assert_eq!(now[field], then[field], "{version}: {field}");
    }
    for (name, value) in then["statistics"].as_object().unwrap() {
        assert_eq!(&now["statistics"][name], value, "{version}: statistics: {name}");
    }
    // A fingerprint gains fields; those of an earlier release have no value.
    for (part, value) in now["fingerprint"].as_object().unwrap() {
        assert_eq!(value, &then["fingerprint"][part], "{version}: fingerprint: {part}");
    }
    let (then, now) = (&then["episode_details"], &now["episode_details"]);
    assert_eq!(now.as_array().unwrap().len(), then.as_array().unwrap().len(), "{version}");
    for (then, now) in then.as_array().unwrap().iter().zip(now.as_array().unwrap()) {
        for field in ["status", "trace_hash", "clauses", "violations", "error"] {
            assert!(holds(&now[field], &then[field]), "{version}: {field}: {} was {}", now[field], then[field]);
        }
        let (files, before) = (now["evidence"].as_array().unwrap(), then["evidence"].as_array().unwrap());
        assert_eq!(files.len(), before.len(), "{version}");
        for file in files {
            let bytes = client.download(file["url"].as_str().unwrap());
            let hash = Sha256Digest::of(&bytes);
            assert_eq!(json!(hash), file["sha256"], "{version}: {}", file["name"]);
        }
    }
    let report = client.get(&format!("/verify/{id}/report.json"));
    assert_eq!(report.status, 200, "{version}: {}", report.body);
    let read: JobReport = serde_json::from_value(report.body).unwrap();
    assert_eq!(read.job_id.to_string(), id, "{version}");
    assert!(client.text(&format!("/verify/{id}/report")).contains("<html"), "{version}");
    assert_eq!(client.get(&format!("/verify/{id}/attestation")).status, 200, "{version}");
    let replay = client.post(&format!("/verify/{id}/replay"));
    replays(version, &replay.body, &replay.text);
}

/// Returns true if `now` contains everything in `then`; fields may have been added.
fn holds(now: &Value, then: &Value) -> bool {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            then.iter().all(|(key, then)| now.get(key).is_some_and(|now| holds(now, then)))
        }
        (Value::Array(now), Value::Array(then)) => {
            now.len() == then.len() && now.iter().zip(then).all(|(now, then)| holds(now, then))
        }
        _ => now == then,
    }
}

/// Checks that the season closes, that its first entry is rerun if the engine is the same, and that its evidence is
/// public.
fn season_closes(release: &Release, client: &Client) {
    let (submission, version) = (release.made["submission"].as_str().unwrap(), &release.version);
    let data: PathBuf = release.assay.path("data");
    board_stands(release, client);
    let closing = release.assay.run(&["season", "close", SCENARIO, "--data", path(&data), "--top", "1"]);
    assert_eq!(closing.code, 0, "{version}: {}", closing.stderr);
    let season = wait_for("a closed season", PATIENCE, || {
        let season = client.get("/seasons").body["seasons"][0].clone();
        (season["state"] == json!("CLOSED")).then_some(season)
    });
    board_stands(release, client);
    let here = serde_json::to_value(&client.job(release.job("queued")).fingerprint).unwrap();
    let runs: &[&str] = if season["fingerprint"] == here { &["", "?run=closing"] } else { &[""] };
    for run in runs {
        let episodes = client.get(&format!("/submissions/{submission}/episodes{run}"));
        let total = episodes.body["total"].as_u64();
        assert!(episodes.status == 200 && total > Some(0), "{version}{run}: {}", episodes.body);
    }
    assert_eq!(client.get(&format!("/submissions/{submission}/attestation")).status, 200, "{version}");
}

/// Checks that the leaderboard shows the entry like the release.
fn board_stands(release: &Release, client: &Client) {
    let board = client.get(&format!("/leaderboard?scenario={SCENARIO}")).body["entries"].clone();
    let (then, now) = (release.made["board"].as_array().unwrap(), board.as_array().unwrap());
    assert_eq!(now.len(), then.len(), "{}: {board}", release.version);
    for (then, now) in then.iter().zip(now) {
        for field in ["rank", "submission_id", "account", "verdict", "score", "success_rate", "episodes"] {
            assert_eq!(now[field], then[field], "{}: {field}", release.version);
        }
    }
}

#[test]
fn data_folders_of_earlier_releases_are_migrated_to_postgresql() {
    for release in Release::all() {
        let url = Postgres::shared().database();
        let done = release.assay.run(&["migrate", "--from", "data", "--data", "site", "--store", &url, "--json"]);
        assert_eq!(done.code, 0, "{}: {done:?}", release.version);
        let about: Value = serde_json::from_str(&done.stdout).unwrap();
        assert!(about["tables"]["jobs"]["rows"].as_u64() > Some(0), "{about}");
        let server = release.assay.serve(&release.assay.path("site"), &["--store", &url, "--lanes", "1"]);
        let client = server.client(&fs::read_to_string(release.assay.path("data/bootstrap-key")).unwrap());
        assert_eq!(client.job(release.job("completed")).status, JobStatus::Completed, "{}", release.version);
        assert_eq!(server.stop(Signal::TERM, PATIENCE).code, 0);
        release.assay.assert_clean();
    }
}
