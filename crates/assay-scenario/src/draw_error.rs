//! Errors of random draws.

/// Attempts to place a body before the placement is considered impossible.
pub(crate) const MAX_TRIES: usize = 10_000;

/// An error of a random draw.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The region is too small for its bodies.
    #[error("placement: no free place for {body:?} after {MAX_TRIES} tries; widen x and y or lower spacing")]
    Crowded {
        /// The body that could not be placed.
        body: String,
    },
    /// The drawn speed of an actor is not positive, or its drawn start time is negative.
    #[error("actor: {body}: its {what} came out as {value}; draw it from a range above 0")]
    Motion {
        /// Body of the actor.
        body: String,
        /// Name of the invalid number.
        what: &'static str,
        /// The drawn value.
        value: f64,
    },
    /// An expression whose value is not a finite number.
    #[error("set: {expression:?}: {problem}")]
    Expression {
        /// The expression as written.
        expression: String,
        /// The problem.
        problem: String,
    },
}
