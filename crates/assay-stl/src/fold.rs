//! Minimum and maximum over what exists. `NaN` stands for "nothing here": a place outside the trace, or a window with
//! nothing in it. Predicates never produce it (theirs becomes `-inf`), nor `-0.0`, so both folds are exact and
//! independent of order: streaming and offline results agree to the bit.

/// Which extremum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Min,
    Max,
}

impl Fold {
    /// The extremum of two values, ignoring "nothing".
    #[inline(always)]
    pub(crate) fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Fold::Min => a.min(b),
            Fold::Max => a.max(b),
        }
    }

    /// The extremum, or nothing where `value` is nothing.
    #[inline(always)]
    pub(crate) fn onto(self, value: f64, limit: f64) -> f64 {
        if value.is_nan() { value } else { self.of(value, limit) }
    }

    /// Whether `a` is at least as extreme as `b`.
    #[inline(always)]
    pub(crate) fn prefers(self, a: f64, b: f64) -> bool {
        match self {
            Fold::Min => a <= b,
            Fold::Max => a >= b,
        }
    }

    /// The value of an empty window at the outside of a formula.
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
