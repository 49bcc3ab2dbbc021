//! Ranges that numbers are drawn from.

/// Whether numbers can be drawn evenly from `low` to `high`: both are numbers, in order, and so is their difference.
pub(crate) fn is_range([low, high]: [f64; 2]) -> bool {
    low <= high && (high - low).is_finite()
}
