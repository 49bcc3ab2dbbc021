//! Bounds on what a formula may ask for: formulas come from uploaded scenarios.

/// Longest formula text, in bytes.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Deepest nesting of parentheses and operators.
pub const MAX_DEPTH: usize = 64;

/// Most nodes (numbers, signals, operators) in one formula.
pub const MAX_NODES: usize = 512;

/// Most temporal operators in one formula; each may buffer one horizon of samples.
pub const MAX_TEMPORAL: usize = 32;

/// Longest look ahead or back of a formula, in samples (35 min at 2 ms).
pub const MAX_HORIZON_STEPS: usize = 1 << 20;

/// How far a time bound may lie from a whole number of periods, relative to the bound.
pub(crate) const STEP_TOLERANCE: f64 = 1e-6;

/// The same in periods, for long bounds.
pub(crate) const STEP_TOLERANCE_STEPS: f64 = 1e-2;

/// Most mutually nested unbounded future operators a monitor folds on the fly; beyond, it records the trace.
pub(crate) const MAX_NESTED_UNBOUNDED: usize = 4;
