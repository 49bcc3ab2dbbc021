//! The result of evaluating a formula on a trace.

/// The way in which a recorded trace ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceEnd {
    /// The episode ran to its end (success or time limit): windows are clipped to the trace, and a condition that was
    /// not met by then is not met.
    Complete,
    /// The episode was cut short: everything that the recorded samples do not settle is undetermined.
    Cut,
}

/// The verdict on a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Robustness at least 0 (of a cut trace: certain to be).
    Satisfied,
    /// Robustness below 0 (of a cut trace: certain to be).
    Violated,
    /// The samples do not settle it: a cut or an empty trace.
    Undetermined,
}

/// The result of a formula on a trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceEvaluation {
    /// The verdict.
    pub status: Status,
    /// Robustness of the trace clipped to its samples, in the unit of the formula's predicates; infinite if nothing
    /// limits it, `-inf` on an empty trace. Never NaN.
    pub robustness: f64,
    /// Minimum and maximum robustness over all continuations. Both equal the robustness if
    /// [`TraceEnd::Complete`].
    pub interval: (f64, f64),
    /// Nothing in the formula was exercised: no premise of its implications held, or its windows were empty.
    pub vacuous: bool,
}

impl TraceEvaluation {
    /// The result for a trace without samples: undetermined, regardless of how it ended.
    pub(crate) const EMPTY: Self = Self {
        status: Status::Undetermined,
        robustness: f64::NEG_INFINITY,
        interval: (f64::NEG_INFINITY, f64::INFINITY),
        vacuous: true,
    };

    /// Creates the result for a complete trace.
    pub(crate) fn complete(robustness: f64, vacuous: bool) -> Self {
        let status = if robustness < 0.0 { Status::Violated } else { Status::Satisfied };
        Self { status, robustness, interval: (robustness, robustness), vacuous }
    }

    /// Creates the result for a cut trace. The robustness of a window emptied by clipping may lie outside the
    /// interval: it is clamped to it.
    pub(crate) fn cut(robustness: f64, interval: (f64, f64), vacuous: bool) -> Self {
        let status = match interval {
            (_, upper) if upper < 0.0 => Status::Violated,
            (lower, _) if lower >= 0.0 => Status::Satisfied,
            _ => Status::Undetermined,
        };
        Self { status, robustness: robustness.max(interval.0).min(interval.1), interval, vacuous }
    }
}
