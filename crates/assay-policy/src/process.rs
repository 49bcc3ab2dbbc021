//! A loaded policy in its jail.

use std::time::Duration;

use assay_jail::Activity;

use crate::connection::{PolicyConnection, PolicyEnd};
use crate::failure::log_text;
use crate::grace::end_within;
use crate::pool::shared::Member;
use crate::stream::PolicyStream;

/// Maximum time of a policy's `close()` after CLOSE, at work or asleep.
const CLOSE_GRACE: Duration = Duration::from_millis(500);

/// A loaded policy in its jail. Dropping it kills it. Neither the process nor its folder outlives this value.
#[derive(Debug)]
pub struct PolicyProcess {
    stream: Option<PolicyStream>,
    nonce: u64,
    import: ImportedPolicy,
    member: Member,
}

/// The CPU time of an import, and the limits of the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImportedPolicy {
    /// CPU time of the import.
    pub(crate) cpu: Duration,
    /// The reading of the process's CPU clock at which the import's budget is used up.
    pub(crate) ends_at: Duration,
    /// CPU time after which the kernel ends the process.
    pub(crate) cpu_limit: Duration,
}

impl PolicyProcess {
    pub(crate) fn new(stream: PolicyStream, nonce: u64, import: ImportedPolicy, member: Member) -> Self {
        Self { stream: Some(stream), nonce, import, member }
    }

    /// Pins the process to one processor, that of its lane.
    ///
    /// # Errors
    /// The processor does not exist.
    pub fn pin(&self, core: usize) -> std::io::Result<()> {
        self.member.child.pin(core)
    }

    /// Returns true if the process is still running.
    pub fn is_running(&mut self) -> bool {
        self.member.child.try_wait().is_none()
    }

    fn end(mut self, grace: Duration) -> PolicyEnd {
        // Closes the stream, which has the same effect as CLOSE if the lane died without sending it.
        self.stream = None;
        let child = &mut self.member.child;
        let exit = end_within(child, grace);
        let log_tail = log_text(&child.output_tail());
        PolicyEnd { exit: Some(exit), log_tail, cpu_limit: Some(self.import.cpu_limit), answers: None }
    }
}

impl PolicyConnection for PolicyProcess {
    fn take_stream(&mut self) -> Option<PolicyStream> {
        self.stream.take()
    }

    fn nonce(&self) -> u64 {
        self.nonce
    }

    fn import_cpu(&self) -> Option<Duration> {
        Some(self.import.cpu)
    }

    fn pid(&self) -> Option<i32> {
        Some(self.member.child.pid())
    }

    fn cpu_time(&self) -> Option<Duration> {
        self.member.child.cpu_time()
    }

    fn import_ends_at(&self) -> Option<Duration> {
        Some(self.import.ends_at)
    }

    fn activity(&self) -> Option<Activity> {
        self.member.child.activity()
    }

    fn kill(&mut self) {
        self.member.child.kill();
    }

    fn finish(self: Box<Self>) -> PolicyEnd {
        self.end(CLOSE_GRACE)
    }

    fn abort(self: Box<Self>) -> PolicyEnd {
        self.end(Duration::ZERO)
    }
}
