//! Ranges that numbers are drawn from.

/// Returns whether numbers can be drawn uniformly from `low` to `high`: both and their difference are finite, and they
/// are in order.
pub(crate) fn is_range([low, high]: [f64; 2]) -> bool {
    low <= high && (high - low).is_finite()
}
