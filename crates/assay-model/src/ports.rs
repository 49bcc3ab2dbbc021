//! Ports for time and randomness, so that tests can control them.

use jiff::Timestamp;

/// Source of the current time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Returns the current time, in UTC.
    fn now(&self) -> Timestamp;
}

/// Source of unpredictable bytes for ids and secrets. (The draws of an episode come from its seed instead.)
pub trait Entropy: Send + Sync + std::fmt::Debug {
    /// Fills `bytes` with unpredictable bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port that the ban points to")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
