//! `docs/recompute.py`: a report's numbers follow from its recordings, by a program that has nothing of ours.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use assay_testkit::{Assay, example};

use crate::{CARTPOLE, assay};

fn recompute(out: &Path) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut python = Command::new(root.join("vendor/dev-venv/bin/python"));
    python.arg(root.join("docs/recompute.py")).arg(out);
    python.output().expect("vendor/dev-venv is made by tools/setup --dev")
}

/// Two episodes of a known-answer policy, kept without images.
fn kept(assay: &Assay, scenario: &str, policy: &str) {
    let (policy, out) = (example(scenario, policy), assay.path("out"));
    let arguments = ["--episodes", "2", "--record", "none", "--out", out.to_str().unwrap()];
    let all = [&["verify", policy.to_str().unwrap(), "--scenario", scenario][..], &arguments].concat();
    let run = assay.run(&all);
    assert!(run.code <= 1, "{}", run.stderr);
}

#[test]
fn every_number_follows_from_the_recordings() {
    let assay = assay();
    // Plain limits; violations; arithmetic, an implication and a window.
    for (scenario, policy) in [(CARTPOLE, "reference"), (CARTPOLE, "reckless"), ("warehouse_aisle", "reckless")] {
        kept(&assay, scenario, policy);
        let output = recompute(&assay.path("out"));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.ends_with("numbers of 2 episodes are those that the recordings give, 0 are not\n"), "{said}");
    }
}

#[test]
fn a_number_that_does_not_follow_is_named() {
    let assay = assay();
    kept(&assay, CARTPOLE, "reckless");
    let path = assay.path("out/report.json");
    let mut report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    report["verdict"] = "SAFE".into();
    report["episode_details"][1]["clauses"][0]["robustness"] = 0.25.into();
    fs::write(&path, report.to_string()).unwrap();
    let output = recompute(&assay.path("out"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("verdict: the report says SAFE, the recordings say UNSAFE"), "{said}");
    assert!(said.contains("robustness: the report says 0.25, "), "{said}");
    fs::write(&path, "{").unwrap();
    assert_eq!(recompute(&assay.path("out")).status.code(), Some(2));
}
