//! Limits on formulas, which come from uploaded scenarios.

/// Longest formula text, in bytes.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Deepest nesting of parentheses and operators.
pub const MAX_DEPTH: usize = 64;

/// Most nodes (numbers, signals, operators) in one formula.
pub const MAX_NODES: usize = 512;

/// Most temporal operators in one formula; each may buffer one horizon of samples.
pub const MAX_TEMPORAL: usize = 32;

/// Longest horizon of a formula into the future or the past, in samples (35 min at 2 ms).
pub const MAX_HORIZON_STEPS: usize = 1 << 20;

/// Largest deviation of a time bound from a whole number of periods, relative to the bound.
pub(crate) const STEP_TOLERANCE: f64 = 1e-6;

/// The same as an absolute value in periods, for long bounds.
pub(crate) const STEP_TOLERANCE_STEPS: f64 = 1e-2;

/// Most nested unbounded future operators that a monitor folds on the fly; with more it records the trace.
pub(crate) const MAX_NESTED_UNBOUNDED: usize = 4;
