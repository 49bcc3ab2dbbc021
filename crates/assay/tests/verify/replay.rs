//! `assay replay`: bit-identical, or the first difference and its cause.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_testkit::{Assay, Run, archive};
use serde_json::Value;

use crate::verify::{CARTPOLE, assay, verify};

/// Pushes occasionally, for half a second; `NUMBER` is the source of its force.
const PUSHES: &str = "import numpy as np\nimport os\n\ndef policy(observation):\n    if observation['time'] > 0.5:\n        raise RuntimeError('seen enough')\n    return np.array([NUMBER])\n";
const STEADY: &str = "np.random.default_rng(len(observation)).normal()";
const FICKLE: &str = "os.urandom(1)[0] / 255 if observation['time'] > 0.2 else 1.0";

/// Creates a report of two episodes with the policy next to it.
fn recorded(assay: &Assay, number: &str) -> PathBuf {
    let policy = assay.write("policy.py", PUSHES.replace("NUMBER", number));
    let out = assay.path("out");
    let run = verify(assay, &policy, &["--episodes", "2", "--record", "none", "--out", out.to_str().unwrap()]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    out.join("report.json")
}

fn replay(assay: &Assay, report: &Path, more: &[&str]) -> Run {
    let mut arguments = vec!["replay", report.to_str().unwrap()];
    arguments.extend(more);
    assay.run(&arguments)
}

fn change_report(report: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    change(&mut value);
    fs::write(report, value.to_string()).unwrap();
}

#[test]
fn a_deterministic_policy_repeats() {
    let assay = assay();
    let report = recorded(&assay, STEADY);
    let run = replay(&assay, &report, &["--episode", "1"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.starts_with("episode 1: bit-identical, 26 control steps\ntrace hash "), "{}", run.stdout);
    assay.assert_clean();

    // A different fingerprint is reported first.
    change_report(&report, |value| value["fingerprint"]["glibc"] = "1.0".into());
    let run = replay(&assay, &report, &["--json"]);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &found["same"], &found["difference"]), (0, &Value::Bool(true), &Value::Null));
    assert_eq!(found["fingerprint_differences"][0]["name"], "glibc");
    assert_eq!(found["fingerprint_differences"][0]["recorded"], "1.0");
}

/// Names of policies in a folder.
fn policies(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("policy")).collect()
}

/// Runs a verification of one episode whose folder is `out`.
fn verified(assay: &Assay, policy: &Path, more: &[&str]) -> Run {
    let run = verify(assay, policy, &[&["--episodes", "1", "--record", "none", "--out", "out"], more].concat());
    assert_eq!(run.code, 3, "{}", run.stderr);
    run
}

#[test]
fn a_policy_of_any_kind_is_stored_next_to_its_report() {
    let assay = assay();
    let source = PUSHES.replace("NUMBER", STEADY);
    let file = assay.write("my own.py", &source);
    assay.write("folder/policy.py", &source);
    assay.write("folder/__pycache__/policy.pyc", "left out");
    assay.write("folder/parts/part.py", "");
    let archive = assay.write("some.zip", archive(&[("policy.py", source.as_bytes())]));
    let out = assay.path("out");
    for (policy, kept) in [(file, "policy.py"), (assay.path("folder"), "policy"), (archive, "policy.zip")] {
        verified(&assay, &policy, &[]);
        let names = policies(&out);
        assert_eq!(names, [kept], "what the run before kept is gone");
        let run = replay(&assay, &out.join("report.json"), &[]);
        assert_eq!(run.code, 0, "{kept}: {}{}", run.stdout, run.stderr);
        let key = ["attest", "verify", "out/report.intoto.json", "--policy"];
        let attested = assay.run(&[&key[..], &[out.join(kept).to_str().unwrap()]].concat());
        assert_eq!(attested.code, 0, "{}{}", attested.stdout, attested.stderr);
    }
    // The file is in the folder, and would be removed with it.
    let kept = out.join("policy.zip");
    let run = verify(&assay, &kept, &["--episodes", "1", "--out", "out"]);
    assert!(run.code == 2 && run.stderr.contains("which is replaced"), "{}", run.stderr);
    assert!(kept.is_file());
    verified(&assay, &assay.path("folder"), &["--no-keep-policy"]);
    assert_eq!(policies(&out), [""; 0]);
    let run = replay(&assay, &out.join("report.json"), &[]);
    assert!(run.code == 2 && run.stderr.contains("--policy"), "{}", run.stderr);
    // A folder without a report belongs to the user.
    let other = assay.write("other/policy.py", "mine");
    let run = verify(&assay, &assay.path("folder"), &["--episodes", "1", "--out", "other"]);
    assert!(run.code == 2 && run.stderr.contains("which assay did not write"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(other).unwrap(), "mine");
}

#[test]
fn the_command_at_the_end_works_in_any_folder() {
    let assay = assay();
    let policy = assay.write("it's mine/a policy.py", PUSHES.replace("NUMBER", STEADY));
    let relative = policy.strip_prefix(assay.path("")).unwrap();
    let own = assay.copy_scenario(CARTPOLE, "own", |_, text| text);
    for scenario in [CARTPOLE, "own/cartpole_keepin"] {
        let more = ["--scenario", scenario, "--episodes", "1", "--wall-budget", "77"];
        let run = assay.run(&[&["verify", relative.to_str().unwrap()], &more[..]].concat());
        let command = run.stdout.lines().next_back().unwrap().trim().to_owned();
        assert!(command.contains("--wall-budget 77") && !command.contains("ASSAY_HOME"), "{command}");
        assert_eq!(command.contains(own.to_str().unwrap()), scenario != CARTPOLE, "{command}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{command} --json")]).current_dir("/").env_remove("ASSAY_HOME");
        let again = shell.env("TMPDIR", assay.path("tmp")).output().unwrap();
        assert_eq!(again.status.code(), Some(run.code), "{command}: {}", String::from_utf8_lossy(&again.stderr));
        let report: Value = serde_json::from_slice(&again.stdout).unwrap();
        let hash = report["episode_details"][0]["trace_hash"].as_str().unwrap();
        assert!(run.stdout.contains(&hash[..12]), "{hash}: {}", run.stdout);
    }
}

#[test]
fn a_nondeterministic_policy_is_reported() {
    let assay = assay();
    let report = recorded(&assay, FICKLE);
    let run = replay(&assay, &report, &[]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    let first = "episode 0: differs from control step 11 onwards (0.220 s)\naction.0 was ";
    assert!(run.stdout.starts_with(first) && run.stdout.contains("not deterministic"), "{}", run.stdout);
}

#[test]
fn a_scenario_with_folders_is_stored_completely() {
    let assay = assay();
    let own = assay
        .copy_scenario(CARTPOLE, "own", |_, text| text.replace("scene = \"scene.xml\"", "scene = \"world/scene.xml\""));
    assay.write("own/cartpole_keepin/world/notes/a.txt", "of no use, but part of the digest");
    fs::rename(own.join("scene.xml"), own.join("world/scene.xml")).unwrap();
    let policy = assay.write("policy.py", PUSHES.replace("NUMBER", STEADY));
    let arguments = ["--episodes", "1", "--record", "none", "--out", "out", "--scenario", own.to_str().unwrap()];
    let run = assay.run(&[&["verify", policy.to_str().unwrap()], &arguments[..]].concat());
    assert_eq!(run.code, 3, "{}", run.stderr);
    for name in ["scenario.toml", "world/scene.xml", "world/notes/a.txt"] {
        assert!(assay.path("out/scenario").join(name).is_file(), "{name}");
    }
    // The only copy of the scenario is next to the report.
    fs::remove_dir_all(own).unwrap();
    let again = replay(&assay, &assay.path("out/report.json"), &["--policy", policy.to_str().unwrap()]);
    assert_eq!(again.code, 0, "{}{}", again.stdout, again.stderr);
}

#[test]
fn files_that_do_not_match_are_refused() {
    let assay = assay();
    let report = recorded(&assay, STEADY);
    let refused = |more: &[&str], says: &str| {
        let run = replay(&assay, &report, more);
        assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(says), "{says}: {}", run.stderr);
    };
    refused(&["--episode", "7"], "the report has the episodes 0, 1");
    let other = assay.write("other.py", PUSHES.replace("NUMBER", "0.5"));
    refused(&["--policy", other.to_str().unwrap()], "not the policy of the report");
    let recording = report.with_file_name("episodes").join("000/trace.parquet");
    let good = fs::read(&recording).unwrap();
    fs::write(&recording, b"PAR1 rubbish PAR1").unwrap();
    refused(&[], "the recording is not the report's");
    // An invalid recording that the report refers to is examined in a jail.
    let text = fs::read_to_string(&report).unwrap();
    change_report(&report, |value| value["episode_details"][0]["evidence"] = Value::Array(Vec::new()));
    refused(&[], "can't be compared");
    fs::write(&report, text).unwrap();
    fs::write(&recording, good).unwrap();
    change_report(&report, |value| value["scenario_digest"] = "0".repeat(64).into());
    refused(&[], "the scenario is not that of the report");
    fs::remove_file(report.with_file_name("policy.py")).unwrap();
    refused(&[], "--policy");
    fs::remove_file(&recording).unwrap();
    refused(&[], "trace.parquet is missing");
    assay.assert_clean();
}
