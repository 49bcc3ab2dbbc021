//! An installation whose scenarios and robots are replaced by newer ones: jobs and seasons accepted before continue
//! unchanged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use assay_model::{JobStatus, Verdict};
use assay_testkit::{Assay, Client, example, home, zip_folder};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{JOB_LIMIT, STOP_LIMIT, assay, serve};

const REACH: &str = "tabletop_reach";

/// An installation that can be changed.
fn installation(assay: Assay) -> Assay {
    let place = assay.path("home");
    fs::create_dir(&place).unwrap();
    symlink(home().join("vendor"), place.join("vendor")).unwrap();
    for name in ["scenarios", "robots"] {
        copy(&home().join(name), &place.join(name));
    }
    let place = place.to_str().unwrap().to_owned();
    assay.with_variable("ASSAY_HOME", &place)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap().path();
        let copied = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &copied);
        } else {
            fs::copy(&entry, copied).unwrap();
        }
    }
}

fn replace(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{}", file.display());
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

/// Installs the next release: another version of the scenario, with a heavier robot.
fn upgrade(assay: &Assay) {
    let scenario: PathBuf = assay.path("home/scenarios/tabletop_reach/scenario.toml");
    replace(&scenario, "\nversion = \"", "\nversion = \"9.");
    replace(&assay.path("home/robots/panda/panda.xml"), "mass=\"4.970684\"", "mass=\"5.970684\"");
}

/// A submission, cancelled at once.
fn submission(client: &Client, zip: &[u8]) -> Value {
    let accepted = client.try_form("/submissions", Some(zip), &[("scenario_id", REACH)]).unwrap();
    assert_eq!(accepted.status, 201, "{}", accepted.body);
    let path = format!("/submissions/{}", accepted.body["submission_id"].as_str().unwrap());
    let found = client.get(&path).body;
    assert_eq!(client.post(&format!("{path}/cancel")).status, 200);
    found
}

#[test]
fn jobs_and_seasons_of_an_earlier_version_continue() {
    let assay = installation(assay());
    let zip = zip_folder(&example(REACH, "reference"));
    let parts = [("scenario", REACH), ("num_episodes", "1"), ("record", "none")];
    let (server, client) = serve(&assay);
    let before = client.ended_job(&client.verify(&zip, &parts), JOB_LIMIT);
    assert_eq!(
        (before.status, before.verdict),
        (JobStatus::Completed, Some(Verdict::Safe)),
        "{:?}",
        before.error_message
    );
    let submitted = submission(&client, &zip);
    let out = assay.path("out");
    let verify = assay.run(&[
        Path::new("verify"),
        &example(REACH, "reference"),
        Path::new("--scenario"),
        Path::new(REACH),
        Path::new("--episodes"),
        Path::new("1"),
        Path::new("--record"),
        Path::new("none"),
        Path::new("--out"),
        &out,
    ]);
    assert_eq!(verify.code, 0, "{}", verify.stderr);
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);

    upgrade(&assay);
    let (_server, client) = serve(&assay);
    let id = before.job_id.to_string();
    let replayed = client.post_json(&format!("/verify/{id}/replay"), &json!({ "episode": 0 }));
    assert_eq!((replayed.status, &replayed.body["same"]), (200, &json!(true)), "{}", replayed.body);
    let next = submission(&client, &zip);
    assert_eq!((&next["season"], &next["scenario_version"]), (&json!(1), &submitted["scenario_version"]));
    let after = client.ended_job(&client.verify(&zip, &parts), JOB_LIMIT);
    assert!(after.scenario_version.starts_with("9."), "{}", after.scenario_version);
    assert_ne!(after.scenario_digest, before.scenario_digest);
    assert_ne!(after.episode_details[0].trace_hash, before.episode_details[0].trace_hash, "the arm weighs more");

    let (report, policy) = (out.join("report.json"), example(REACH, "reference"));
    let replay = assay.run(&[Path::new("replay"), &report, Path::new("--policy"), &policy]);
    assert_eq!(replay.code, 0, "{}{}", replay.stdout, replay.stderr);
    fs::remove_dir_all(out.join("robots")).unwrap();
    let replay = assay.run(&[Path::new("replay"), &report, Path::new("--policy"), &policy]);
    assert_eq!(replay.code, 2, "{}{}", replay.stdout, replay.stderr);
    assert!(replay.stderr.contains("is not that of the report"), "{}", replay.stderr);
}
