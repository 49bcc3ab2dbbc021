//! The outcome of the work on a shard.

use std::error::Error;

use crate::SessionError;
use crate::episode::rejection::Rejection;

/// The outcome of the work on a shard.
pub(crate) enum ShardEnd {
    /// Every episode is recorded.
    Done,
    /// The service is stopping, the lease is lost, or it is another job's turn.
    HandBack,
    /// The scenario cannot be run.
    Scenario(String),
    /// Storage was unavailable or full; this does not count as a failure.
    Outage(Box<dyn Error + Send + Sync>),
    /// An internal error.
    Failed(SessionError),
}

impl From<SessionError> for ShardEnd {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Cancelled | SessionError::Rejected(Rejection::NotHeld { .. }) => Self::HandBack,
            SessionError::Scenario(message) => Self::Scenario(message),
            SessionError::Outage(error) => Self::Outage(error),
            SessionError::Rejected(error @ Rejection::Unstored { .. }) => Self::Outage(Box::new(error)),
            SessionError::Interrupted { .. } | SessionError::Internal(_) => Self::Failed(error),
        }
    }
}
