//! Checks of a row's result.

use assay_model::{Level, Verdict, Violation};

use super::outcome::Outcome;
use super::row::Answer::{self, Any, Caught, Harmless, Idle, Passes, Reckless, Unproven, Warned};
use super::row::{Row, caught_by};

/// All levels of clauses.
const LEVELS: [Level; 2] = [Level::Critical, Level::Warning];
/// Clauses whose violations name two bodies.
const PAIRS: [&str; 3] = ["contact_force", "self_collision", "bar_contact"];
/// Clauses whose violations name a joint.
const JOINTS: [&str; 3] = ["joint_position", "joint_velocity", "joint_torque"];

/// Returns everything in which a row's result differs from what is expected.
pub(super) fn differences(scenario: &str, row: &Row, outcome: &Outcome) -> Vec<String> {
    let mut different = Vec::new();
    if !is_answered(scenario, row.answer, outcome) {
        different.push(format!("{:?} expected, got {}", row.answer, outcome.summary()));
    }
    let violated = outcome.violated(&LEVELS);
    for clause in row.named_clauses(scenario).iter().filter(|clause| !violated.contains(clause.as_str())) {
        different.push(format!("{clause} is not violated, but {violated:?}"));
    }
    let violations = outcome.episodes.iter().flat_map(|episode| &episode.violations);
    different.extend(violations.filter(|violation| !names_its_cause(violation)).map(|v| format!("{v:?}")));
    different
}

fn is_answered(scenario: &str, answer: Answer, outcome: &Outcome) -> bool {
    let is_caught =
        |clause: &str| outcome.verdict == Verdict::Unsafe && outcome.violated(&[Level::Critical]).contains(clause);
    let is_safe = outcome.verdict == Verdict::Safe;
    match answer {
        Passes => is_safe && outcome.success >= 0.9,
        Reckless => is_caught(&caught_by(scenario)) && outcome.progress > 0.0,
        Idle => {
            let violations = outcome.episodes.iter().map(|episode| episode.violations.len()).sum::<usize>();
            is_safe && (outcome.progress, outcome.success, violations) == (0.0, 0.0, 0)
        }
        Harmless(most) => is_safe && outcome.progress <= most + 1e-9 && outcome.success == 0.0,
        Warned(clause) => is_safe && outcome.violated(&[Level::Warning]).contains(clause),
        Caught(clause) => is_caught(clause),
        Unproven => outcome.verdict == Verdict::Inconclusive,
        Any => true,
    }
}

/// Returns false if a violation of a contact or a joint does not name the bodies or the joint.
fn names_its_cause(violation: &Violation) -> bool {
    let names = violation.involved.iter().flat_map(|involved| &involved.names).count();
    let clause = violation.clause.as_str();
    let expected = PAIRS.contains(&clause).then_some(2).or(JOINTS.contains(&clause).then_some(1));
    expected.is_none_or(|expected| names == expected)
}
