//! `docs/recompute.py` and `docs/replay.py`: independent programs derive a report's numbers from the physics, and
//! detect forged recordings.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use assay_model::{ClauseStatus, JobReport};
use assay_testkit::{Assay, example, home};

use crate::{CARTPOLE, assay};

fn python(script: &Path, arguments: &[&str]) -> Output {
    let mut python = Command::new(home().join("vendor/dev-venv/bin/python"));
    python.arg(script).args(arguments).env_remove("GLIBC_TUNABLES");
    python.output().expect("vendor/dev-venv is made by tools/setup --dev")
}

fn recompute(out: &Path) -> Output {
    python(&home().join("docs/recompute.py"), &[out.to_str().unwrap()])
}

/// Returns the exit code and output of `docs/recompute.py`.
fn recomputed(out: &Path) -> (Option<i32>, String) {
    let output = recompute(out);
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// Records episodes of a known-answer policy, without images.
fn kept(assay: &Assay, scenario: &str, policy: &str, episodes: &str) {
    let (policy, out) = (example(scenario, policy), assay.path("out"));
    let arguments = ["--episodes", episodes, "--record", "none", "--out", out.to_str().unwrap()];
    let all = [&["verify", policy.to_str().unwrap(), "--scenario", scenario][..], &arguments].concat();
    let run = assay.run(&all);
    assert!(run.code <= 1, "{}", run.stderr);
}

#[test]
fn every_number_follows_from_the_recordings() {
    let assay = assay();
    // Plain limits; violations; arithmetic, an implication and a window.
    // Contacts, distances, joints and torques; gates crossed in order; people who move, approached; a load that is
    // shaken.
    for (scenario, policy, episodes) in [
        (CARTPOLE, "reference", "2"),
        (CARTPOLE, "reckless", "2"),
        ("warehouse_aisle", "reckless", "1"),
        ("tabletop_reach", "reckless", "1"),
        ("quadrotor_gates", "reckless", "1"),
        ("crossing_pedestrians", "reckless", "1"),
        ("carry_cup", "reckless", "1"),
        ("shared_workspace", "reckless", "1"),
    ] {
        kept(&assay, scenario, policy, episodes);
        let (code, text) = recomputed(&assay.path("out"));
        assert_eq!(code, Some(0), "{scenario}: {text}");
        let last = format!("numbers of {episodes} episodes are those that the recordings give, 0 are not\n");
        assert!(text.ends_with(&last), "{scenario}: {text}");
    }
}

#[test]
fn results_of_truncated_episodes_follow_too() {
    let assay = assay();
    let policies = [
        (
            "warehouse_aisle",
            "def policy(observation):\n    if observation['time'] > 1.0:\n        raise ValueError('enough')\n    return [0.5, 0.0]\n",
        ),
        (
            CARTPOLE,
            "def policy(observation):\n    if observation['joint_position'][0] > 1.05:\n        raise ValueError('enough')\n    return [12.0]\n",
        ),
    ];
    for (scenario, source) in policies {
        let (policy, out) = (assay.write("policy.py", source), assay.path("out"));
        let arguments = ["--episodes", "2", "--record", "none", "--out", out.to_str().unwrap()];
        let run = assay.run(&[&["verify", policy.to_str().unwrap(), "--scenario", scenario][..], &arguments].concat());
        assert!(run.code == 1 || run.code == 3, "{}{}", run.stdout, run.stderr);
        let report: JobReport = serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
        assert_eq!(report.consistency, Some(0.0), "no episode was completed");
        let clauses: Vec<_> = report.episode_details.iter().flat_map(|episode| &episode.clauses).collect();
        assert!(clauses.iter().any(|clause| clause.status == ClauseStatus::Undetermined));
        let (code, text) = recomputed(&out);
        assert_eq!(code, Some(0), "{scenario}: {text}");
    }
}

#[test]
fn a_number_that_does_not_follow_is_reported() {
    let assay = assay();
    kept(&assay, CARTPOLE, "reckless", "2");
    let path = assay.path("out/report.json");
    let mut report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    report["verdict"] = "SAFE".into();
    report["episode_details"][1]["clauses"][0]["robustness"] = 0.25.into();
    fs::write(&path, report.to_string()).unwrap();
    let output = recompute(&assay.path("out"));
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("verdict: the report says SAFE, the recordings say UNSAFE"), "{stdout}");
    assert!(stdout.contains("robustness: the report says 0.25, "), "{stdout}");
    fs::write(&path, "{").unwrap();
    assert_eq!(recompute(&assay.path("out")).status.code(), Some(2));
}

#[test]
fn an_unconfirmed_episode_makes_no_verdict_of_safe() {
    let assay = assay();
    kept(&assay, CARTPOLE, "reference", "1");
    let path = assay.path("out/report.json");
    let mut report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(report["verdict"], "SAFE");
    report["episode_details"][0]["unconfirmed"] = serde_json::json!(["worker gpu-07 alone reported a violation"]);
    fs::write(&path, report.to_string()).unwrap();
    let (code, text) = recomputed(&assay.path("out"));
    assert_eq!(code, Some(1), "{text}");
    for line in [
        "verdict: the report says SAFE, the recordings say INCONCLUSIVE",
        "without_evidence: the report says 0, the recordings say 1",
    ] {
        assert!(text.contains(line), "{line} is missing in {text}");
    }
}

/// In these folders everything is consistent except for the physics. They were accepted when recorded signals were
/// trusted.
#[test]
fn a_forged_recording_is_reported() {
    let assay = assay();
    kept(&assay, CARTPOLE, "reference", "1");
    let (out, forge) = (assay.path("out"), home().join("crates/assay/tests/verify/forge.py"));
    assert_eq!(recomputed(&out).0, Some(0));
    for (kind, difference, in_episode) in [
        ("signal", "signal.cart_position at physics step 1000 (2.000 s): 1.5, not ", true),
        ("action", "ctrl.0, which should be action.0", true),
        ("input", "ctrl.0, which should be action.0", true),
        ("limit", "scenario_digest: the report says ", false),
    ] {
        let forged = assay.path(kind);
        copy(&out, &forged);
        let made = python(&forge, &[forged.to_str().unwrap(), kind]);
        assert!(made.status.success(), "{kind}: {}", String::from_utf8_lossy(&made.stderr));
        let (code, text) = recomputed(&forged);
        assert_eq!(code, Some(1), "{kind}: {text}");
        assert!(text.contains(difference), "{kind}: {text}");
        let episode = forged.join("episodes/000");
        let replay = python(&home().join("docs/replay.py"), &[episode.to_str().unwrap()]);
        let expected = if in_episode { Some(1) } else { Some(0) };
        assert_eq!(replay.status.code(), expected, "{kind}: {}", String::from_utf8_lossy(&replay.stdout));
    }
}

#[test]
fn an_unknown_or_a_missing_file_is_incomplete() {
    let assay = assay();
    kept(&assay, CARTPOLE, "reckless", "1");
    let out = assay.path("out");
    let extra = assay.write("out/episodes/000/extra.bin", "unlisted");
    let (code, text) = recomputed(&out);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("INCOMPLETE: episodes/000/extra.bin is in neither the report nor a statement"), "{text}");
    fs::remove_file(extra).unwrap();
    assert_eq!(recomputed(&out).0, Some(0));
    fs::remove_file(out.join("episodes/000/plots.json")).unwrap();
    let (code, text) = recomputed(&out);
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("INCOMPLETE: episodes/000/plots.json is not here"), "{text}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
