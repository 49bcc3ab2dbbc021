//! Order of violations.

use std::cmp::Ordering;

use crate::{Harm, Level};

/// Gravity of a violation: critical clauses before warnings, then by the harm, then by the margin as a share of the
/// scale.
#[derive(Debug, Clone, Copy)]
pub struct Gravity {
    is_minor: bool,
    harm: Option<Harm>,
    margin: f64,
}

impl Gravity {
    /// Returns the gravity of a violation of a clause of this level and harm; `margin` is a share of the scale, `None`
    /// if it is not finite.
    #[must_use]
    pub fn new(level: Level, harm: Option<Harm>, margin: Option<f64>) -> Self {
        Self { is_minor: level != Level::Critical, harm, margin: margin.unwrap_or(f64::NEG_INFINITY) }
    }

    /// Compares two violations; the graver one is less.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let kind = |gravity: &Self| (gravity.is_minor, gravity.harm);
        kind(self).cmp(&kind(other)).then(self.margin.total_cmp(&other.margin))
    }
}
