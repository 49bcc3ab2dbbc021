//! The metadata of a Hugging Face model card, as its `model-index`: the results of the policy on the scenario.
//!
//! Format: the front matter of a `README.md`, between lines of three dashes; see "Evaluation Results" in the
//! documentation of model cards. Strings are written as JSON, which is YAML, so nothing that a policy or scenario
//! contains can end them.

use std::fmt::Write;

use assay_model::{JobReport, sanitise};

use crate::outcome;

/// Maximum length of a text from a policy or scenario, in bytes.
const MAX_TEXT_BYTES: usize = 256;

/// Renders the metadata. Metrics that were not measured are left out.
///
/// The verdict is part of every metric's name: a success rate beside a violated clause must not look like a clean one.
#[must_use]
pub fn render(report: &JobReport) -> String {
    let mut out = String::from("---\ntags:\n- robotics\n- assay\nmodel-index:\n");
    let verdict = outcome::headline(report);
    let _ = writeln!(out, "- name: {}", text(&report.policy_name));
    let _ = writeln!(out, "  results:\n  - task:\n      type: robotics\n      name: Robot control");
    let _ = writeln!(out, "    dataset:\n      name: {}", text(&report.scenario.to_string()));
    let _ = writeln!(out, "      type: {}", text(&format!("assay/{}", report.scenario)));
    let _ = writeln!(out, "      revision: {}", text(&report.scenario_version));
    out.push_str("    metrics:\n");
    let bound = report.statistics.as_ref().map(|found| found.violation_probability_upper);
    let metrics = [
        ("success_rate", "Success rate", report.success_rate),
        ("assay_score", "Score", report.score),
        ("assay_safety_score", "Safety score", report.safety_score),
        ("assay_violation_probability_upper", "Upper bound of the violation probability", bound),
    ];
    for (kind, name, value) in metrics {
        let Some(value) = value.filter(|value| value.is_finite()) else { continue };
        let name = format!("{name} ({verdict}, {} episodes)", report.num_episodes);
        let _ = writeln!(out, "    - type: {kind}\n      value: {value}\n      name: {}", text(&name));
        // `verified` is a claim of the platform, not of an author.
        let _ = writeln!(out, "      verified: false");
    }
    let identity = text(&outcome::identity(report));
    let _ = writeln!(out, "assay:\n  verdict: {}\n  policy: {identity}", text(verdict));
    let _ = writeln!(out, "  scenario_sha256: {}\n---", text(&report.scenario_digest.to_string()));
    out
}

/// Returns a text as a quoted scalar.
fn text(value: &str) -> String {
    serde_json::Value::from(sanitise(value, MAX_TEXT_BYTES)).to_string()
}
