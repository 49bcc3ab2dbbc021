//! Limits of connections that policies open.

use std::time::Duration;

/// Maximum time from the handshake to HELLO.
const HELLO_LIMIT: Duration = Duration::from_secs(5);
/// Maximum time that a job waits for its policy's first connection.
pub const FIRST_CONNECTION_WAIT: Duration = Duration::from_secs(120);
/// Maximum time that an episode waits for another connection after one was lost.
pub const RECONNECTION_WAIT: Duration = Duration::from_secs(30);
/// Maximum time that all episodes of a job wait for connections.
pub(super) const TOTAL_WAIT: Duration = Duration::from_secs(600);

/// Maximum times of a connection's begin, and that the episodes of a job wait for connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionWaits {
    /// From the handshake to HELLO.
    pub(super) hello: Duration,
    /// All episodes together, before the first connection.
    pub(super) first: Duration,
    /// An episode, after a connection was lost.
    pub(super) again: Duration,
    /// All episodes together.
    pub(super) total: Duration,
}

impl ConnectionWaits {
    /// The default times but for these.
    pub(crate) fn with(hello: Duration, again: Duration) -> Self {
        Self { hello, again, ..Self::default() }
    }
}

impl Default for ConnectionWaits {
    fn default() -> Self {
        Self { hello: HELLO_LIMIT, first: FIRST_CONNECTION_WAIT, again: RECONNECTION_WAIT, total: TOTAL_WAIT }
    }
}

/// Interval between two pings of a connection without an episode.
pub(super) const PING_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum time for the answer to a ping before an episode begins.
pub(super) const PONG_LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of connections that do not answer it, for an episode.
pub(super) const MAX_DEAD: u32 = 5;
/// Time without any sign of life after which a connection without an episode is closed.
pub(super) const SILENCE_LIMIT: Duration = Duration::from_secs(20);
/// Maximum number of control frames from one ping to the next.
pub(super) const MAX_PARKED_CONTROL_FRAMES: u32 = 100;
/// Maximum length of a frame from the service, in bytes: enough for several large images.
pub(super) const MAX_SERVICE_BYTES: usize = 64 << 20;
/// Time without any message after which the policy's side considers the service gone: longer than the interval of
/// pings, and than a control step takes.
pub(super) const SERVICE_SILENCE_LIMIT: Duration = Duration::from_secs(120);
