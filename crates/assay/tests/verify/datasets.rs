//! `assay dataset`, and `assay verify --record-observations`: every byte that a policy saw and every action that it
//! answered, in three formats. `read_dataset.py` reads them with the public libraries.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_testkit::{Assay, PATIENCE, Run, example, wait_for};
use serde_json::Value;

use crate::verify::{CARTPOLE, assay, hashes, report, seen};

/// Runs `read_dataset.py`.
#[track_caller]
fn read(arguments: &[&str]) -> Value {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut python = Command::new(here.join("../../vendor/dev-venv/bin/python"));
    let output = python.arg(here.join("tests/verify/read_dataset.py")).args(arguments).output();
    let output = output.expect("vendor/dev-venv is made by tools/setup --dev");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", run.stdout, run.stderr))
}

/// Returns the names of everything in the folder, hidden files too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Verifies the policy of `seen` with recorded observations, into `out`.
fn verified(assay: &Assay, more: &[&str]) -> Run {
    let scenario = seen::scenario(assay);
    let policy = assay.write("policy.py", seen::POLICY);
    let (policy, scenario, out) = (policy.to_str().unwrap(), scenario.to_str().unwrap(), assay.path("out"));
    let arguments = ["verify", policy, "--scenario", scenario, "--episodes", "2", "--json", "--record", "none"];
    assay.run(&[&arguments[..], &["--out", out.to_str().unwrap(), "--record-observations"], more].concat())
}

fn dataset(assay: &Assay, arguments: &[&str]) -> Run {
    assay.run(&[&["dataset"], arguments].concat())
}

#[test]
fn datasets_have_what_the_policy_saw_and_answered_in_every_format() {
    let assay = assay();
    let run = verified(&assay, &[]);
    let verdict = report(&run);
    for episode in &verdict.episode_details {
        let name = format!("episodes/{:03}/observations.bin", episode.episode);
        assert!(episode.has_evidence(&name) && episode.evidence_notes.is_empty(), "{:?}", episode.evidence_notes);
    }
    let out = assay.path("out");
    let path = |name: &str| assay.path(name).to_str().unwrap().to_owned();
    for format in ["parquet", "mcap", "lerobot"] {
        let run =
            dataset(&assay, &["--from", out.to_str().unwrap(), "--format", format, "-o", &path(format), "--json"]);
        let summary = json(&run);
        assert_eq!((run.code, &summary["episodes"], &summary["recorded_episodes"]), (0, &2.into(), &2.into()));
        let steps: u32 = verdict.episode_details.iter().map(|episode| episode.steps).sum();
        assert_eq!(summary["frames"], steps, "{summary}");
        let omitted =
            if format == "lerobot" { serde_json::json!(["depth/front", "last_action"]) } else { serde_json::json!([]) };
        assert_eq!(summary["omitted"], omitted);
    }
    let table = read(&["table", &path("parquet")]);
    assert_eq!(table["episodes"], serde_json::json!([0, 1]), "{table}");
    let logs = read(&["logs", &path("mcap"), &path("parquet")]);
    // Repeated pictures are not written again: 2 per second of the large one, 25 of the other, of 50 steps.
    let count = |topic: &str| logs["messages"][topic].as_u64().unwrap();
    assert!(count("/observation/images/large") * 20 < count("/action") + 40, "{logs}");
    assert!(count("/observation/depth/front") == count("/observation/images/front"), "{logs}");
    let lerobot = read(&["lerobot", &path("lerobot"), &path("parquet")]);
    assert!(lerobot["task"][0].as_str().is_some_and(|task| !task.is_empty()), "{lerobot}");
    let origin: Value = serde_json::from_slice(&fs::read(assay.path("lerobot/assay.json")).unwrap()).unwrap();
    assert_eq!(origin["origin"]["job_id"], verdict.job_id.to_string());
    assert_eq!(origin["episodes"][1]["episode"], 1);
    // The same episodes, recorded without a report: the table is the same file.
    let (policy, scenario) = (path("policy.py"), path("seen/cartpole_keepin"));
    let direct =
        ["--scenario", &scenario, "--seed", "0", "--episodes", "2", "--format", "parquet", "-o", &path("direct")];
    let run = dataset(&assay, &[&[policy.as_str()], &direct[..]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let bytes = |name: &str| fs::read(path(name)).unwrap();
    assert!(bytes("direct/data.parquet") == bytes("parquet/data.parquet"), "the tables differ");
    assay.assert_clean();
}

#[test]
fn recording_changes_no_trace_and_is_never_the_default() {
    let assay = assay();
    let recorded = report(&verified(&assay, &[]));
    let scenario = assay.path("seen/cartpole_keepin");
    let (policy, scenario) = (assay.path("policy.py"), scenario.to_str().unwrap().to_owned());
    let out = assay.path("plain");
    let arguments = ["--scenario", &scenario, "--episodes", "2", "--json", "--out", out.to_str().unwrap()];
    let run = assay.run(&[&["verify", policy.to_str().unwrap()], &arguments[..]].concat());
    assert_eq!(hashes(&report(&run)), hashes(&recorded));
    assert!(!out.join("episodes/000/observations.bin").exists());
    let from = dataset(&assay, &["--from", out.to_str().unwrap(), "--format", "parquet", "-o", "none"]);
    assert_eq!(from.code, 2);
    assert!(from.stderr.contains("--record-observations") && !assay.path("none").exists(), "{}", from.stderr);
    // Replay and verification of the evidence know the new file.
    let replayed = assay.run(&["replay", assay.path("out/report.json").to_str().unwrap()]);
    assert_eq!(replayed.code, 0, "{}{}", replayed.stdout, replayed.stderr);
}

#[test]
fn a_recording_over_its_limit_is_removed_and_noted() {
    let assay = assay();
    let run = verified(&assay, &["--max-evidence-mib", "1"]);
    for episode in report(&run).episode_details {
        let name = format!("episodes/{:03}/observations.bin", episode.episode);
        assert!(!episode.has_evidence(&name) && !assay.path("out").join(name).exists());
        assert!(
            episode.evidence_notes.iter().any(|note| note.contains("observations")),
            "{:?}",
            episode.evidence_notes
        );
    }
}

#[test]
fn only_successful_episodes_are_kept_on_request() {
    let assay = assay();
    let (reference, reckless) = (example(CARTPOLE, "reference"), example(CARTPOLE, "reckless"));
    let base = ["--scenario", CARTPOLE, "--episodes", "2", "--format", "lerobot", "--only-success", "--json"];
    let run = dataset(&assay, &[&[reckless.to_str().unwrap()], &base[..], &["-o", "bad"]].concat());
    assert_eq!((run.code, assay.path("bad").exists()), (1, false), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("none of 2 recorded episodes"), "{}", run.stderr);
    let state = ["-o", "deep/good", "--state", "joint_velocity"];
    let run = dataset(&assay, &[&[reference.to_str().unwrap()], &base[..], &state].concat());
    assert_eq!((run.code, &json(&run)["successes"]), (0, &2.into()), "{}", run.stderr);
    let info: Value = serde_json::from_slice(&fs::read(assay.path("deep/good/meta/info.json")).unwrap()).unwrap();
    assert_eq!(info["features"]["observation.state"]["names"][1], "joint_velocity.1");
    // There are no images, so there has to be a state of the environment.
    assert_eq!(info["features"]["observation.environment_state"], info["features"]["observation.state"]);
    assert_eq!(info["features"]["action"]["names"], serde_json::json!(["force"]));
    let split = ["-o", "split", "--environment", "joint_position"];
    let run = dataset(&assay, &[&[reference.to_str().unwrap()], &base[..], &split].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let info: Value = serde_json::from_slice(&fs::read(assay.path("split/meta/info.json")).unwrap()).unwrap();
    let names = |key: &str| info["features"][key]["names"].clone();
    let environment = serde_json::json!(["joint_position.0", "joint_position.1"]);
    assert_eq!(names("observation.environment_state"), environment);
    assert!(!names("observation.state").to_string().contains("joint_position"), "{info}");
    assay.assert_clean();
}

#[test]
fn what_cannot_be_written_is_refused_and_nothing_is_overwritten() {
    let assay = assay();
    let policy = example(CARTPOLE, "reference");
    let policy = policy.to_str().unwrap();
    let full = ["--scenario", CARTPOLE, "--episodes", "1", "--format"];
    let kept = assay.write("kept/mine.txt", "mine");
    let cases: [(&[&str], &str); 8] = [
        (&["lerobot", "-o", "kept"], "exists; choose a new folder"),
        (&["lerobot", "-o", "kept/mine.txt"], "exists; choose a new folder"),
        (&["lerobot", "-o", "/"], "exists"),
        (&["csv", "-o", "new"], "use lerobot, parquet or mcap"),
        (&["parquet", "-o", "new", "--state", "joint_position"], "are only for --format lerobot"),
        (&["lerobot", "-o", "new", "--state", "joint_pos"], "\"joint_pos\"; it has joint_position"),
        (&["lerobot", "-o", "new", "--episodes", "0"], "--episodes"),
        (&["lerobot", "-o", "new", "--from", "out"], "cannot be used with"),
    ];
    // Before an episode is run, or a policy is looked for.
    let typo = [&["nowhere.zip"], &full[..], &["lerobot", "-o", "new", "--state", "joint_pos"]].concat();
    assert!(dataset(&assay, &typo).stderr.contains("joint_pos"), "the policy does not exist");
    for (arguments, words) in cases {
        let run = dataset(&assay, &[&[policy], &full[..], arguments].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(words), "{arguments:?} should say {words:?}: {}", run.stderr);
    }
    assert_eq!((names(&assay.path("kept")), fs::read(kept).unwrap()), (vec!["mine.txt".to_owned()], b"mine".to_vec()));
    assert!(!names(&assay.path(".")).iter().any(|name| name == "new" || name.starts_with(".assay-dataset")));
    assay.assert_clean();
}

#[test]
fn a_recording_that_is_not_the_reports_is_refused() {
    let assay = assay();
    let run = verified(&assay, &[]);
    assert!(!report(&run).episode_details.is_empty());
    let file = assay.path("out/episodes/001/observations.bin");
    let good = fs::read(&file).unwrap();
    let from = |name: &str| dataset(&assay, &["--from", "out", "--format", "mcap", "-o", name]);
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    fs::write(&file, bad).unwrap();
    let run = from("a");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("is not the file of the report"), "{}", run.stderr);
    fs::remove_file(&file).unwrap();
    assert_eq!(from("a").code, 2);
    fs::write(&file, good).unwrap();
    assert_eq!(from("a").code, 0);
    assert_eq!(names(&assay.path("a")), ["assay.json", "episodes"]);
}

#[test]
fn an_interrupted_recording_leaves_nothing() {
    let assay = assay();
    let policy = example(CARTPOLE, "reference");
    let arguments =
        ["dataset", policy.to_str().unwrap(), "--scenario", CARTPOLE, "--episodes", "1000", "--format", "lerobot"];
    let running = assay.start(&[&arguments[..], &["-o", "new"]].concat());
    wait_for("an episode", PATIENCE, || running.stderr().contains("[1/").then_some(()));
    running.interrupt();
    assert_eq!(running.wait(PATIENCE).code, 130);
    assert!(!names(&assay.path(".")).iter().any(|name| name == "new" || name.starts_with(".assay-dataset")));
    assay.assert_clean();
}
