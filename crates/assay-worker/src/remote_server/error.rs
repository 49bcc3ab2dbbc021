//! Errors of requests to the server.

use std::error::Error;
use std::io;

/// The reason why a request to the server did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ServerCallError {
    /// There was no answer.
    #[error("the server {server} did not answer")]
    Unreachable {
        /// Its address.
        server: String,
        /// The reason.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server cannot do it now.
    #[error("the server can't do it now: {0}")]
    Unavailable(String),
    /// The worker must stop: its token is refused, another process uses it, or the versions differ.
    #[error("{0}")]
    Refused(String),
    /// The lease is lost.
    #[error("the lease is lost")]
    LeaseLost,
    /// The server answered with an error.
    #[error("the server answered {status}: {message}")]
    Answer {
        /// HTTP status.
        status: u16,
        /// Its message.
        message: String,
    },
    /// A file of this machine could not be read or written.
    #[error("could not read or write a file")]
    Io(#[from] io::Error),
    /// A file from the server is not the one that was asked for.
    #[error("the server sent a file other than {0}")]
    WrongFile(String),
}

impl ServerCallError {
    /// Returns true if the same request may succeed later.
    pub(super) fn is_temporary(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Unavailable(_))
    }
}
