//! Limits of time and bytes for a policy server.

use std::time::Duration;

/// Maximum number of actions in one answer.
pub(crate) const MAX_HORIZON: usize = 1000;
/// Maximum length of an answer, in bytes: a chunk of actions has some kilobytes.
pub(crate) const MAX_REPLY_BYTES: usize = 2 * 1024 * 1024;
/// Maximum number of bytes that a server may send from one request to the next, in messages and around them.
pub(crate) const MAX_RECEIVED_BYTES: usize = 2 * MAX_REPLY_BYTES;
/// Maximum nesting of an answer.
pub(crate) const MAX_REPLY_DEPTH: usize = 16;
/// Maximum number of control frames, such as pings, per episode; an ordinary server sends one every 20 s.
pub(crate) const MAX_CONTROL_FRAMES: u32 = 1000;
/// Maximum time for a server to answer the end of the conversation.
pub(crate) const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// Deadlines in wall-clock time: another machine's CPU time cannot be read. A lane waits longer than any of them, so
/// that the relay reports the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteLimits {
    /// Looking up the name, connecting, handshakes, and the server's introduction.
    pub connect: Duration,
    /// Reset and first answer of an episode, each: models compile on their first call.
    pub first: Duration,
    /// Every other answer.
    pub inference: Duration,
    /// All answers of an episode together.
    pub episode: Duration,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first: Duration::from_secs(20),
            inference: Duration::from_secs(10),
            episode: Duration::from_secs(20 * 60),
        }
    }
}
