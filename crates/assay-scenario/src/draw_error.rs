//! Draws that fail.

/// Attempts to place a body before the placement is considered impossible.
pub(crate) const MAX_TRIES: usize = 10_000;

/// A draw that failed.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The region is too small for its bodies.
    #[error("placement: no free place for {body:?} after {MAX_TRIES} tries; widen x and y or lower spacing")]
    Crowded {
        /// The body that could not be placed.
        body: String,
    },
    /// An actor that would have to move backwards in time.
    #[error("actor: {body}: its {what} came out as {value}; draw it from a range above 0")]
    Motion {
        /// Its body.
        body: String,
        /// The number that is wrong.
        what: &'static str,
        /// The drawn value.
        value: f64,
    },
    /// A `[[set]]` value that is not a number.
    #[error("set: {expression:?}: {problem}")]
    Expression {
        /// The expression as written.
        expression: String,
        /// The problem.
        problem: String,
    },
}
