//! Why a text is not a formula, and why a formula does not fit the samples.

/// The text is not a formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: expected {expected}, found {found}")]
pub struct ParseError {
    /// Where, in characters, counted from 1.
    pub column: usize,
    /// What would have been accepted there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// The formula cannot be evaluated on samples of this kind.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BindError {
    /// The formula names a signal that the samples do not hold.
    #[error("unknown signal `{name}`")]
    UnknownSignal {
        /// The name in the formula.
        name: String,
    },
    /// The sample period is not a positive, finite number of seconds.
    #[error("the sample period must be a positive number of seconds, not {period_s}")]
    Period {
        /// The period given, in seconds.
        period_s: f64,
    },
    /// A time bound falls between two samples.
    #[error("the time bound {bound_s} s is not a whole number of sample periods of {period_s} s")]
    NotWholePeriods {
        /// The bound, in seconds.
        bound_s: f64,
        /// The sample period, in seconds.
        period_s: f64,
    },
    /// The formula looks further ahead or back than a monitor may buffer.
    #[error("the formula spans {steps} samples, more than the {limit} allowed")]
    Horizon {
        /// What it would need, in samples (saturated).
        steps: u64,
        /// [`MAX_HORIZON_STEPS`](crate::MAX_HORIZON_STEPS).
        limit: usize,
    },
}
