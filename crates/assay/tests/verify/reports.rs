//! `assay report`: a kept report in other forms.

use std::fs;

use assay_testkit::example;

use crate::{CARTPOLE, assay, verify};

#[test]
fn a_kept_report_has_every_form() {
    let assay = assay();
    let arguments = ["--episodes", "1", "--seed", "7", "--record", "none", "--out", "out"];
    let run = verify(&assay, &example(CARTPOLE, "reckless"), &arguments);
    assert_eq!(run.code, 1, "{}", run.stderr);
    for (form, part) in [
        ("--html", "Signals against their limits"),
        ("--markdown", "# UNSAFE: reckless on cartpole"),
        ("--junit", "<failure message=\"keep_in violated in episode 0"),
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
