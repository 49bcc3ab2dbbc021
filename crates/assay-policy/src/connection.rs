//! What every kind of policy offers to whoever drives it: a jailed process, or the relay to a policy server.

use std::time::Duration;

use assay_jail::{Activity, Exit};

use crate::PolicyFailure;
use crate::failure::killed_from_outside;
use crate::remote::Answers;
use crate::stream::PolicyStream;

/// A loaded policy at the other end of a stream of frames.
pub trait PolicyConnection: Send {
    /// The stream, to be handed to a lane: LOADED was its last frame. `None` once it is taken.
    fn take_stream(&mut self) -> Option<PolicyStream>;
    /// The number that its frames carry.
    fn nonce(&self) -> u64;
    /// What its server speaks, in words; `None` for a jailed policy.
    fn speaks(&self) -> Option<&str> {
        None
    }
    /// CPU time that importing it took; `None` for a policy server.
    fn import_cpu(&self) -> Option<Duration> {
        None
    }
    /// The process whose CPU clock is its budget; `None` when it is timed by the wall.
    fn pid(&self) -> Option<i32>;
    /// CPU time it has used; `None` when unknown.
    fn cpu_time(&self) -> Option<Duration>;
    /// Reading of its CPU clock at which its import's budget is used up; `None` for a policy server.
    fn import_ends_at(&self) -> Option<Duration> {
        None
    }
    /// What its threads are doing at this moment, seen from outside; `None` for a policy server, and when it is gone.
    fn activity(&self) -> Option<Activity>;
    /// Kills its process, if it has one; how it ended is known from [`Self::finish`].
    fn kill(&mut self);
    /// Ends it after CLOSE was sent: waits a moment for it to end by itself, then kills it.
    fn finish(self: Box<Self>) -> PolicyEnd;
    /// Ends it at once.
    fn abort(self: Box<Self>) -> PolicyEnd;
}

/// What is left of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyEnd {
    /// How its process ended; `None` when it had none of ours.
    pub exit: Option<Exit>,
    /// The end of what it printed, sanitised, at most [`crate::LOG_TAIL_BYTES`].
    pub log_tail: String,
    /// CPU time after which the kernel ends its process.
    pub cpu_limit: Option<Duration>,
    /// What its server answered; `None` for a jailed policy.
    pub answers: Option<Answers>,
}

impl PolicyEnd {
    /// What to tell the author when the process ended in the middle of an episode; `None` for a policy server.
    #[must_use]
    pub fn failure(&self) -> Option<PolicyFailure> {
        self.exit.as_ref().map(|exit| PolicyFailure::exited(exit, self.cpu_limit))
    }

    /// Evidence that another process killed it, or a machine short of memory; `None` where it ended otherwise.
    #[must_use]
    pub fn killed_from_outside(&self) -> Option<String> {
        self.exit.as_ref().and_then(|exit| killed_from_outside(exit, self.cpu_limit))
    }
}
