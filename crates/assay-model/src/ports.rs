//! Time and randomness as inputs, so that tests own them.

use jiff::Timestamp;

/// Tells the time of day.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now, in UTC.
    fn now(&self) -> Timestamp;
}

/// Bytes that nobody can guess: ids and secrets are made of them. (What an episode draws comes from its seed instead.)
pub trait Entropy: Send + Sync + std::fmt::Debug {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port that the ban points to")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
