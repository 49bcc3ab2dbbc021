//! Verdicts and their exit codes.

use assay_model::{Blame, ClauseStatus, JobStatus, Verdict};
use assay_testkit::example;

use crate::verify::{CARTPOLE, assay, report, verify};

#[test]
fn each_verdict_has_its_exit_code() {
    let assay = assay();
    for (policy, code, verdict, reason) in [
        ("reference", 0, Verdict::Safe, None),
        ("reckless", 1, Verdict::Unsafe, Some("keep_in")),
        ("idle", 0, Verdict::Safe, Some("nothing was achieved")),
    ] {
        let run = verify(&assay, &example(CARTPOLE, policy), &["--json"]);
        let report = report(&run);
        assert_eq!((run.code, report.verdict), (code, Some(verdict)), "{policy}: {}", run.stderr);
        assert_eq!((report.status, report.policy_name.as_str()), (JobStatus::Completed, policy));
        assert_eq!(report.reason.is_some(), reason.is_some(), "{:?}", report.reason);
        assert!(report.reason.unwrap_or_default().contains(reason.unwrap_or_default()));
        assay.assert_clean();
    }
}

#[test]
fn the_terminal_report_explains_the_verdict() {
    let assay = assay();
    let run = verify(&assay, &example(CARTPOLE, "reckless"), &["--episodes", "1"]);
    assert_eq!(run.code, 1);
    for part in ["UNSAFE", "keep_in", "violated in ep. 0", "Episodes", "evidence"] {
        assert!(run.stdout.contains(part), "{part} is missing in\n{}", run.stdout);
    }
    assert!(!run.stdout.contains('\u{1b}'), "colours without a terminal");
    assert!(run.stderr.contains("[1/1] episode 0"), "{}", run.stderr);
}

#[test]
fn a_target_is_certified_or_the_verdict_is_open() {
    let assay = assay();
    let policy = example(CARTPOLE, "reference");
    for (episodes, code, certified) in [("4", 3, false), ("5", 0, true)] {
        let target = ["--max-violation-probability", "0.5", "--episodes", episodes, "--json"];
        let run = verify(&assay, &policy, &target);
        let report = report(&run);
        assert_eq!(run.code, code, "{episodes} episodes: {:?}", report.reason);
        let statistics = report.statistics.unwrap();
        assert_eq!((statistics.certified, statistics.episodes_needed), (Some(certified), 5));
        if !certified {
            assert_eq!(report.verdict, Some(Verdict::Inconclusive));
            assert!(report.reason.unwrap().contains("5 are needed"));
        }
    }
}

#[test]
fn violations_before_a_failure_of_the_policy_count() {
    let assay = assay();
    // Drives the cart out of the zone, then crashes.
    let source = "import numpy as np\n\ndef policy(observation):\n    if abs(observation['joint_position'][0]) > 1.2:\n        raise RuntimeError('too late')\n    return np.array([12.0])\n";
    let run = verify(&assay, &assay.write("policy.py", source), &["--episodes", "1", "--json"]);
    let report = report(&run);
    assert_eq!((run.code, report.verdict, report.blame), (1, Some(Verdict::Unsafe), Some(Blame::Policy)));
    let episode = &report.episode_details[0];
    assert!(episode.error.as_ref().unwrap().message.contains("too late"));
    let keep_in = episode.clauses.iter().find(|clause| clause.id == "keep_in").unwrap();
    assert_eq!(keep_in.status, ClauseStatus::Violated);
    assert!(report.error_message.unwrap().contains("too late"));
}
