//! `assay report`: a stored report in other formats.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_testkit::example;
use serde_json::Value;

use crate::verify::evidence::SHORT;
use crate::verify::{CARTPOLE, assay, verify};

#[test]
fn a_kept_report_has_every_form() {
    let assay = assay();
    let arguments = ["--episodes", "1", "--seed", "7", "--record", "none", "--out", "out"];
    let run = verify(&assay, &example(CARTPOLE, "reckless"), &arguments);
    assert_eq!(run.code, 1, "{}", run.stderr);
    for (form, part) in [
        ("--html", "Signals against their limits"),
        ("--markdown", "# UNSAFE: reckless on cartpole"),
        ("--junit", "(keep_in) in episode 0, from "),
        ("--sarif", "\"ruleId\": \"keep_in\""),
    ] {
        let shown = assay.run(&["report", "out/report.json", form]);
        assert_eq!(shown.code, 1, "the exit code is the verdict's: {}", shown.stderr);
        assert!(shown.stdout.contains(part), "{form}: {}", shown.stdout);
    }
    let run = assay.run(&["report", "out/report.json", "--junit", "-o", "junit.xml"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(fs::read_to_string(assay.path("junit.xml")).unwrap().starts_with("<?xml"));
    let both = assay.run(&["report", "out/report.json", "--junit", "--sarif"]);
    assert_eq!(both.code, 2, "one form at a time");
    assert_eq!(assay.run(&["report", "absent.json"]).code, 2);
}

#[test]
fn reports_of_every_verdict_fit_the_schemas() {
    let assay = assay();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let schema = assay.run(&["report", "--schema"]);
    assert_eq!(schema.code, 0, "{}", schema.stderr);
    assert_eq!(schema.stdout, fs::read_to_string(root.join("docs/report.schema.json")).unwrap());
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema.stdout).unwrap()).unwrap();
    let breaks = assay.write("breaks.py", SHORT);
    let policies = [(example(CARTPOLE, "reference"), 0), (example(CARTPOLE, "reckless"), 1), (breaks, 3)];
    let mut files = Vec::new();
    for (policy, code) in policies {
        let out = format!("out{code}/report.json");
        let arguments = ["--episodes", "2", "--record", "none", "--out", &out[..4]];
        assert_eq!(verify(&assay, &policy, &arguments).code, code);
        let report: Value = serde_json::from_slice(&fs::read(assay.path(&out)).unwrap()).unwrap();
        let problems: Vec<_> = schema.iter_errors(&report).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(problems.is_empty(), "{problems:#?}");
        files.push(assay.path(&format!("{code}.xml")));
        let run = assay.run(&["report", &out, "--junit", "-o", files.last().unwrap().to_str().unwrap()]);
        assert_eq!(run.code, code, "{}", run.stderr);
    }
    let check = |files: &[PathBuf]| {
        let mut python = Command::new(root.join("vendor/dev-venv/bin/python"));
        python.arg(root.join("crates/assay/tests/verify/check_junit.py"));
        python.arg(root.join("crates/assay-report/tests/data/junit-10.xsd")).args(files);
        python.output().expect("vendor/dev-venv is made by tools/setup --dev")
    };
    let found = check(&files);
    assert_eq!(String::from_utf8_lossy(&found.stdout), "3 files fit\n", "{}", String::from_utf8_lossy(&found.stderr));
    let broken = fs::read_to_string(&files[0]).unwrap().replace("<testcase ", "<testcase colour=\"red\" ");
    assert!(!check(&[assay.write("broken.xml", broken)]).status.success(), "the schema is strict enough to be of use");
}
