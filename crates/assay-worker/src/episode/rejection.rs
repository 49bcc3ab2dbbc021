//! Reasons for which the receiver of a session's events ends the session.

use std::error::Error;

/// The reason why an event of a session was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum Rejection {
    /// The episode's shard belongs to another worker now, or its job has ended.
    #[error("episode {episode} belongs to another worker now")]
    NotHeld {
        /// The index of the episode.
        episode: u32,
    },
    /// Storage is unavailable or full; try again later.
    #[error("{what} of episode {episode} could not be stored")]
    Unstored {
        /// The object that was to be stored.
        what: &'static str,
        /// The index of the episode.
        episode: u32,
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
    },
}
