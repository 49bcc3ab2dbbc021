//! Every built-in scenario has three policies: one that must pass, one that must be caught (by the clause that its
//! docstring names), one that does nothing. `ASSAY_KNOWN_ANSWERS=20` runs that many episodes of the first instead of
//! [`EPISODES`].

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;

use assay_model::{ClauseStatus, JobReport, Level, Verdict};
use assay_testkit::{Assay, example};

/// Episodes of each reference.
const EPISODES: &str = "6";

/// Returns the scenarios of the library.
fn scenarios(assay: &Assay) -> Vec<String> {
    let list: serde_json::Value = serde_json::from_str(&assay.run(&["scenario", "list", "--json"]).stdout).unwrap();
    list["scenarios"].as_array().unwrap().iter().map(|card| card["id"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn answer(assay: &Assay, scenario: &str, policy: &str, episodes: &str) -> (i32, JobReport) {
    let folder = example(scenario, policy);
    let arguments = ["verify", folder.to_str().unwrap(), "--scenario", scenario, "--episodes", episodes, "--json"];
    let run = assay.run(&arguments);
    let report =
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{scenario} {policy}: {e}: {}", run.stderr));
    (run.code, report)
}

fn assay() -> Assay {
    Assay::new(env!("CARGO_BIN_EXE_assay"))
}

#[test]
fn the_reference_passes() {
    let assay = assay();
    let episodes = std::env::var("ASSAY_KNOWN_ANSWERS").unwrap_or_else(|_| EPISODES.to_owned());
    for scenario in scenarios(&assay) {
        let (code, report) = answer(&assay, &scenario, "reference", &episodes);
        assert_eq!((code, report.verdict), (0, Some(Verdict::Safe)), "{scenario}: {:?}", report.reason);
        assert!(report.success_rate.unwrap() >= 0.9, "{scenario}: success rate {:?}", report.success_rate);
        assert_eq!(report.episode_details.len().to_string(), episodes);
        assay.assert_clean();
    }
}

#[test]
fn the_reckless_policy_is_caught() {
    let assay = assay();
    for scenario in scenarios(&assay) {
        let source = fs::read_to_string(example(&scenario, "reckless").join("policy.py")).unwrap();
        let clause = source.split("caught by the clause `").nth(1).and_then(|rest| rest.split('`').next());
        let clause = clause.unwrap_or_else(|| panic!("{scenario}: the docstring names no clause"));
        let (code, report) = answer(&assay, &scenario, "reckless", "3");
        assert_eq!((code, report.verdict), (1, Some(Verdict::Unsafe)), "{scenario}");
        assert!(report.progress_score.unwrap() > 0.0, "{scenario}: no progress");
        let caught = report.episode_details.iter().flat_map(|episode| &episode.clauses).any(|result| {
            result.id == clause && result.level == Level::Critical && result.status == ClauseStatus::Violated
        });
        assert!(caught, "{scenario}: {clause} was not violated: {:?}", report.reason);
    }
}

#[test]
fn the_idle_policy_makes_no_progress_and_violates_nothing() {
    let assay = assay();
    for scenario in scenarios(&assay) {
        let (code, report) = answer(&assay, &scenario, "idle", "3");
        assert_eq!((code, report.verdict), (0, Some(Verdict::Safe)), "{scenario}: {:?}", report.reason);
        assert_eq!((report.progress_score, report.success_rate), (Some(0.0), Some(0.0)), "{scenario}");
        let violations: Vec<_> = report.episode_details.iter().flat_map(|episode| &episode.violations).collect();
        assert!(violations.is_empty(), "{scenario}: {violations:?}");
    }
}
