//! The outcome of the work on a shard.

use std::error::Error;

use super::dispatch::DispatchError;
use crate::SessionError;
use crate::episode::rejection::Rejection;
use crate::remote_server::ServerCallError;

/// The outcome of the work on a shard.
pub(crate) enum ShardEnd {
    /// Every episode is recorded.
    Done,
    /// The service is stopping, the lease is lost, it is another job's turn, or the policy is at another server.
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
            SessionError::Cancelled
            | SessionError::PolicyElsewhere
            | SessionError::Rejected(Rejection::NotHeld { .. }) => Self::HandBack,
            SessionError::Scenario(message) => Self::Scenario(message),
            SessionError::Outage(error) => Self::Outage(error),
            SessionError::Rejected(Rejection::Unstored { ref source, .. }) if is_refused(&**source) => {
                Self::Failed(error)
            }
            SessionError::Rejected(error @ Rejection::Unstored { .. }) => Self::Outage(Box::new(error)),
            SessionError::OverWorkLimit | SessionError::Interrupted { .. } | SessionError::Internal(_) => {
                Self::Failed(error)
            }
        }
    }
}

/// Returns true if the server will never take it, such as evidence that is too large: waiting would not help.
fn is_refused(source: &(dyn Error + Send + Sync + 'static)) -> bool {
    matches!(source.downcast_ref(), Some(DispatchError::Server(ServerCallError::Answer { status: 400..=499, .. })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_refuses_for_good_is_a_failure_and_no_outage() {
        let end = |error| {
            let source = Box::new(DispatchError::Server(error));
            ShardEnd::from(SessionError::Rejected(Rejection::Unstored { what: "evidence", episode: 0, source }))
        };
        let answer = |status| ServerCallError::Answer { status, message: "too large".to_owned() };
        assert!(matches!(end(answer(413)), ShardEnd::Failed(_)));
        assert!(matches!(end(answer(500)), ShardEnd::Outage(_)));
        assert!(matches!(end(ServerCallError::Unavailable("full".to_owned())), ShardEnd::Outage(_)));
    }
}
