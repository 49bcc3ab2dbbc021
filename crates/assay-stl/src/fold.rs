//! Minimum and maximum over the values that exist. `NaN` stands for "no value": a position outside the trace, or an
//! empty window. Predicates never produce it (their NaN becomes `-inf`), nor `-0.0`, so both folds are exact and
//! independent of order: streaming and offline results agree to the bit.

/// Minimum or maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Min,
    Max,
}

impl Fold {
    /// Returns the extremum of two values, ignoring NaN ("no value").
    #[inline(always)]
    pub(crate) fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Fold::Min => a.min(b),
            Fold::Max => a.max(b),
        }
    }

    /// Returns the extremum of both, or NaN if `value` is NaN.
    #[inline(always)]
    pub(crate) fn onto(self, value: f64, limit: f64) -> f64 {
        if value.is_nan() { value } else { self.of(value, limit) }
    }

    /// Returns true if `a` is at least as extreme as `b`.
    #[inline(always)]
    pub(crate) fn prefers(self, a: f64, b: f64) -> bool {
        match self {
            Fold::Min => a <= b,
            Fold::Max => a >= b,
        }
    }

    /// Returns the value of an empty window at the outermost level of a formula.
    pub(crate) fn empty(self) -> f64 {
        match self {
            Fold::Min => f64::INFINITY,
            Fold::Max => f64::NEG_INFINITY,
        }
    }

    pub(crate) fn dual(self) -> Self {
        match self {
            Fold::Min => Fold::Max,
            Fold::Max => Fold::Min,
        }
    }
}
