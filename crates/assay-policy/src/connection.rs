//! Common interface of loaded policies: a jailed process, or the relay to a policy server.

use std::time::Duration;

use assay_jail::{Activity, Exit};

use crate::PolicyFailure;
use crate::failure::killed_from_outside;
use crate::remote::AnswerCounts;
use crate::stream::PolicyStream;

/// A loaded policy at the other end of a stream of frames.
pub trait PolicyConnection: Send {
    /// Takes the stream, for a lane: LOADED was its last frame. `None` once it is taken.
    fn take_stream(&mut self) -> Option<PolicyStream>;
    /// Returns the number that its frames carry.
    fn nonce(&self) -> u64;
    /// Returns the description of its server's protocol; `None` for a jailed policy.
    fn speaks(&self) -> Option<&str> {
        None
    }
    /// Returns the CPU time of its import; `None` for a policy server.
    fn import_cpu(&self) -> Option<Duration> {
        None
    }
    /// Returns the process whose CPU clock measures its budget; `None` if its budget is wall-clock time.
    fn pid(&self) -> Option<i32>;
    /// Returns the CPU time it has used; `None` if unknown.
    fn cpu_time(&self) -> Option<Duration>;
    /// Returns the reading of its CPU clock at which its import's budget is used up; `None` for a policy server.
    fn import_ends_at(&self) -> Option<Duration> {
        None
    }
    /// Returns the current activity of its threads, seen from outside; `None` for a policy server, and after its end.
    fn activity(&self) -> Option<Activity>;
    /// Kills its process, if it has one; [`Self::finish`] returns how it ended.
    fn kill(&mut self);
    /// Ends it after CLOSE was sent: waits briefly for it to end by itself, then kills it.
    fn finish(self: Box<Self>) -> PolicyEnd;
    /// Ends it at once.
    fn abort(self: Box<Self>) -> PolicyEnd;
}

/// The end of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyEnd {
    /// The exit of its process; `None` for a policy server.
    pub exit: Option<Exit>,
    /// The end of its output, sanitised, at most [`crate::LOG_TAIL_BYTES`].
    pub log_tail: String,
    /// CPU time after which the kernel ends its process.
    pub cpu_limit: Option<Duration>,
    /// Statistics of its server's answers; `None` for a jailed policy.
    pub answers: Option<AnswerCounts>,
}

impl PolicyEnd {
    /// Returns the failure to report if the process ended during an episode; `None` for a policy server.
    #[must_use]
    pub fn failure(&self) -> Option<PolicyFailure> {
        self.exit.as_ref().map(|exit| PolicyFailure::exited(exit, self.cpu_limit))
    }

    /// Returns evidence that another process, or a machine short of memory, killed it; `None` if it ended otherwise.
    #[must_use]
    pub fn killed_from_outside(&self) -> Option<String> {
        self.exit.as_ref().and_then(|exit| killed_from_outside(exit, self.cpu_limit))
    }
}
