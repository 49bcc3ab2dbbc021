//! Displays an error with its causes on one line.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

/// Displays an error followed by its causes, outermost first, separated by colons.
///
/// The `Display` of an error type shows only its own message and leaves the cause to [`Error::source`]; code that
/// reports an error to a person or to a log displays the whole chain.
#[derive(Debug, Clone, Copy)]
pub struct ErrorChain<'a>(pub &'a dyn Error);

impl Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the outer error")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn every_cause_is_shown_once() {
        let cause = "x".parse::<u8>().expect_err("not a number");
        let error = Outer(cause);
        assert_eq!(ErrorChain(&error).to_string(), "the outer error: invalid digit found in string");
    }
}
