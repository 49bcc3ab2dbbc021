//! The clips that the pages show of known-answer policies.

use std::fs;
use std::path::Path;

use assay_model::{JobReport, Sha256Digest, Verdict};
use assay_policy::{IntakeLimits, intake};
use assay_scenario::Scenario;
use assay_testkit::{example, home};

use super::outcome::Outcome;

/// Asserts that the clip of an example shows the current policy and scenario with the verdict and the first episode of
/// `outcome`. `work` is a folder for temporary files.
#[track_caller]
pub(super) fn clip_shows(scenario: &Scenario, policy: &str, outcome: &Outcome, work: &Path) {
    let shown = clip(scenario.id.as_str(), policy);
    let name = format!("the clip of {}, {policy}", scenario.id);
    let facts = (shown.verdict, shown.scenario_digest, shown.policy_sha256);
    let sha256 = policy_sha256(scenario.id.as_str(), policy, work);
    assert_eq!(facts, (Some(outcome.verdict), scenario.digest, Some(sha256)), "{name}");
    if outcome.verdict == Verdict::Safe {
        assert_eq!(shown.success_rate, Some(1.0), "{name}");
    }
    // Another processor may round differently.
    if shown.fingerprint.as_ref() == Some(&outcome.fingerprint) {
        let [shown, again] = [&shown.episode_details, &outcome.episodes].map(|episodes| episodes[0].trace_hash);
        assert_eq!(again, shown, "{name}");
    }
}

/// Returns the report of a clip.
fn clip(scenario: &str, policy: &str) -> JobReport {
    let file = home().join("scenarios/clips").join(scenario).join(policy).with_extension("json");
    let text =
        fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}; run tools/scenario-clips {scenario}", file.display()));
    serde_json::from_slice(&text).unwrap()
}

fn policy_sha256(scenario: &str, policy: &str, work: &Path) -> Sha256Digest {
    intake(&example(scenario, policy), &work.join(policy), &IntakeLimits::default()).unwrap().sha256
}
