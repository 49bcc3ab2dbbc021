//! The bounds of a formula's robustness while a trace is being recorded.

/// The bounds on the robustness that the samples so far imply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunningBounds {
    /// Lower bound over all continuations; at least 0 means certainly satisfied.
    pub lower: f64,
    /// Upper bound over all continuations; below 0 means certainly violated.
    pub upper: f64,
}

impl RunningBounds {
    pub(crate) const OPEN: Self = Self { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
}
