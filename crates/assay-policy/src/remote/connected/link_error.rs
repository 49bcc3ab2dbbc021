//! Errors of the policy's side when it connects to a service.

/// A connection to a service that could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ServiceLinkError {
    /// The service cannot be reached, or the connection cannot be encrypted.
    #[error("{0}")]
    Unreachable(String),
    /// The service answered the handshake with this status.
    #[error("the service refused the policy's connection (HTTP {0})")]
    Refused(u16),
    /// The machine lacks threads or descriptors.
    #[error("could not start the connection")]
    Machine(#[from] std::io::Error),
}
