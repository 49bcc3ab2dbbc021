//! Ends of WebSockets, as faults of the other side.

use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::error::{CapacityError, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::fault::ServerFault;
use super::limits::MAX_REPLY_BYTES;

/// Returns the reason that a close frame gives, in words that follow "closed the connection".
pub(crate) fn reason(frame: Option<&CloseFrame>) -> String {
    match frame {
        Some(frame) if frame.reason.is_empty() => format!(" (code {})", u16::from(frame.code)),
        Some(frame) => format!(" (code {}: {})", u16::from(frame.code), frame.reason.as_str()),
        None => String::new(),
    }
}

/// Returns the fault of a connection that failed later.
pub(crate) fn broken(error: &Error) -> ServerFault {
    match error {
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Io(_)
        | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => ServerFault::closed(""),
        Error::Capacity(CapacityError::MessageTooLong { .. }) => {
            ServerFault::protocol(format!("a message of more than {} MiB", MAX_REPLY_BYTES / (1024 * 1024)))
        }
        other => ServerFault::protocol(other.to_string()),
    }
}
