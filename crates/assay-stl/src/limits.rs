//! Limits on formulas, which come from uploaded scenarios.

/// Maximum length of a formula's text, in bytes.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Maximum nesting of parentheses and operators.
pub const MAX_DEPTH: usize = 64;

/// Maximum number of nodes (numbers, signals, operators) in one formula.
pub const MAX_NODES: usize = 512;

/// Maximum number of temporal operators in one formula; each may buffer one horizon of samples.
pub const MAX_TEMPORAL: usize = 32;

/// Maximum horizon of a formula into the future or the past, in samples (35 min at 2 ms).
pub const MAX_HORIZON_STEPS: usize = 1 << 20;

/// Maximum deviation of a time bound from a whole number of periods, relative to the bound.
pub(crate) const STEP_TOLERANCE: f64 = 1e-6;

/// Maximum deviation of a long time bound from a whole number of periods, in periods.
pub(crate) const STEP_TOLERANCE_STEPS: f64 = 1e-2;

/// Maximum number of nested unbounded future operators that a monitor folds on the fly; with more, it records the
/// trace.
pub(crate) const MAX_NESTED_UNBOUNDED: usize = 4;
