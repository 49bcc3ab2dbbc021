//! Names that a scenario may define, and the robots that it may refer to.

use assay_stl::Formula;

use crate::{Robot, ScenarioError};

/// Reserved words of formulas, which cannot be names of signals.
const RESERVED: [&str; 2] = ["time", "limit"];

/// Returns whether a formula reads `name` as the name of a signal or parameter.
pub(super) fn is_identifier(name: &str) -> bool {
    let reads = Formula::parse(&format!("{name} >= 0"), &[]).is_ok_and(|formula| formula.signals() == [name]);
    reads && !RESERVED.contains(&name)
}

/// Returns whether the name is safe as the name of a folder and as a prefix in MJCF.
pub(super) fn is_name(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    !text.is_empty() && text.bytes().all(allowed)
}

/// Rejects the name of a robot that the scenario does not have.
pub(super) fn check_robot(robots: &[Robot], key: String, name: &str) -> Result<(), ScenarioError> {
    if robots.iter().any(|robot| robot.name == name) {
        return Ok(());
    }
    Err(ScenarioError::value(key, format!("there is no [[robot]] named {name:?}")))
}
