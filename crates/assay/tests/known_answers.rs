//! Every built-in scenario has three policies: one that must pass, one that must be caught (by the clause that its
//! docstring names), one that does nothing. `ASSAY_KNOWN_ANSWERS=20` runs that many episodes of the first instead of
//! [`EPISODES`].

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;

use assay_model::{ClauseStatus, JobReport, Level, Verdict};
use assay_testkit::{Assay, example, home};

/// Episodes of each reference.
const EPISODES: &str = "6";

/// Returns the scenarios of the library.
fn scenarios(assay: &Assay) -> Vec<String> {
    let list: serde_json::Value = serde_json::from_str(&assay.run(&["scenario", "list", "--json"]).stdout).unwrap();
    list["scenarios"].as_array().unwrap().iter().map(|card| card["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the report of the clip that the pages show of a policy.
fn clip(scenario: &str, policy: &str) -> JobReport {
    let file = home().join("scenarios/clips").join(scenario).join(policy).with_extension("json");
    let text =
        fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}; run tools/scenario-clips {scenario}", file.display()));
    serde_json::from_slice(&text).unwrap()
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
        let clip = clip(&scenario, "reference");
        let shown = (clip.verdict, clip.success_rate, clip.scenario_digest);
        assert_eq!(shown, (Some(Verdict::Safe), Some(1.0), report.scenario_digest), "{scenario}: its clip");
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
        let clip = self::clip(&scenario, "reckless");
        let shown = (clip.verdict, clip.scenario_digest);
        assert_eq!(shown, (Some(Verdict::Unsafe), report.scenario_digest), "{scenario}: its clip");
        let caught = report.episode_details.iter().flat_map(|episode| &episode.clauses).any(|result| {
            result.id == clause && result.level == Level::Critical && result.status == ClauseStatus::Violated
        });
        assert!(caught, "{scenario}: {clause} was not violated: {:?}", report.reason);
    }
}

#[test]
fn a_clip_shows_what_its_run_again_shows() {
    let assay = assay();
    for policy in ["reference", "reckless"] {
        let (folder, shown) = (example("cartpole_keepin", policy), clip("cartpole_keepin", policy));
        let seed = shown.seed.to_string();
        let arguments = ["verify", folder.to_str().unwrap(), "--scenario", "cartpole_keepin", "--episodes", "1"];
        let run = assay.run(&[&arguments[..], &["--seed", &seed, "--json"]].concat());
        let again: JobReport = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((again.verdict, again.policy_sha256), (shown.verdict, shown.policy_sha256), "{policy}");
        // Another processor may round differently.
        if again.fingerprint == shown.fingerprint {
            assert_eq!(again.episode_details[0].trace_hash, shown.episode_details[0].trace_hash, "{policy}");
        }
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
