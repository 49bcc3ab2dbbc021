//! Errors of parsing a formula and of binding it to samples.

/// A syntax error in the text of a formula.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: expected {expected}, found {found}")]
pub struct ParseError {
    /// Column of the error in characters, from 1.
    pub column: usize,
    /// The input that would have been accepted there.
    pub expected: String,
    /// The input found there.
    pub found: String,
}

/// The reason why a formula cannot be evaluated on these samples.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BindError {
    /// The formula names a signal that the samples do not contain.
    #[error("unknown signal `{name}`")]
    UnknownSignal {
        /// The name in the formula.
        name: String,
    },
    /// The sample period is not a positive, finite number of seconds.
    #[error("the sample period must be a positive number of seconds, not {period_s}")]
    Period {
        /// The given period in seconds.
        period_s: f64,
    },
    /// A time bound falls between two samples.
    #[error("the time bound {bound_s} s is not a whole number of sample periods of {period_s} s")]
    NotWholePeriods {
        /// The bound in seconds.
        bound_s: f64,
        /// The sample period in seconds.
        period_s: f64,
    },
    /// The formula looks further ahead or back than a monitor may buffer.
    #[error("the formula spans {steps} samples, more than the {limit} allowed")]
    Horizon {
        /// The required horizon in samples (saturated).
        steps: u64,
        /// [`MAX_HORIZON_STEPS`](crate::MAX_HORIZON_STEPS).
        limit: usize,
    },
}
