//! Failures of policies, sanitised for storage and display.

use std::time::Duration;

use assay_jail::{Exit, ExitReason};
use assay_model::frame::PolicyFault;
use assay_model::{PolicyErrorCode, sanitise};

/// Longest message kept, in bytes.
pub const MESSAGE_BYTES: usize = 2 * 1024;
/// Longest traceback kept, in bytes.
pub const TRACEBACK_BYTES: usize = 16 * 1024;
/// Longest end of the log kept, in bytes.
pub const LOG_TAIL_BYTES: usize = 64 * 1024;

/// Signal numbers that have a message of their own.
const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;
const SIGSYS: i32 = 31;

/// The reason why a policy failed: a result for which its author is to blame. All text is sanitised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFailure {
    /// Its kind, as reported by the runner or the relay of a policy server, or as observed from outside.
    pub code: PolicyErrorCode,
    /// One line for the author.
    pub message: String,
    /// Python traceback of the author's own frames; empty if there is none.
    pub traceback: String,
    /// The end of its output.
    pub log_tail: String,
}

impl PolicyFailure {
    pub(crate) fn from_fault(fault: &PolicyFault) -> Self {
        Self {
            code: fault.code.clone(),
            message: sanitise(&fault.message, MESSAGE_BYTES),
            traceback: sanitise(&fault.traceback, TRACEBACK_BYTES),
            log_tail: String::new(),
        }
    }

    pub(crate) fn observed(code: PolicyErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), traceback: String::new(), log_tail: String::new() }
    }

    /// Creates the failure of a process that ended without an answer. The kernel ends it after `cpu_limit` of CPU time.
    pub(crate) fn exited(exit: &Exit, cpu_limit: Option<Duration>) -> Self {
        if exit.reason == ExitReason::Flooded {
            let limit = assay_jail::FLOOD_BYTES / (1024 * 1024);
            let message = format!("the policy printed more than {limit} MiB and was stopped");
            return Self::observed(PolicyErrorCode::LogFlood, message);
        }
        if let ExitReason::OverMemory(limit) = exit.reason {
            let message = format!("the policy wrote more than the {} MiB of memory that it may use", limit >> 20);
            return Self::observed(PolicyErrorCode::Memory, message);
        }
        if exit.reason == ExitReason::Killed {
            let message = "the policy's process closed its connection to its runner and did not end";
            return Self::observed(PolicyErrorCode::Exited, message);
        }
        let how = match (exit.signal, exit.code) {
            (Some(SIGSYS), _) => "the policy made a forbidden system call and was stopped".to_owned(),
            (Some(SIGSEGV), _) => "the policy's process crashed (segmentation fault, or abort)".to_owned(),
            (Some(SIGKILL), _) => killed_from_outside(exit, cpu_limit).unwrap_or_else(|| {
                format!(
                    "the policy's process was killed, as the kernel does at its limit of {} s of CPU time, counted in ticks; it \
                     had used {:.1} s",
                    cpu_limit.unwrap_or_default().as_secs(),
                    exit.cpu.as_secs_f64()
                )
            }),
            (Some(signal), _) => format!("the policy's process was ended by signal {signal}"),
            (None, code) => format!("the policy's process ended by itself (status {})", code.unwrap_or(0)),
        };
        Self::observed(PolicyErrorCode::Exited, how)
    }

    pub(crate) fn with_log(mut self, tail: &[u8]) -> Self {
        self.log_tail = log_text(tail);
        self
    }
}

/// Returns evidence that another process sent the SIGKILL that ended it. A policy has no system call for that, and its
/// jail refuses exit statuses that look like it; the kernel sends one only above the limit of CPU time (memory above
/// its limit is denied). It counts in ticks, and a policy that works across each tick and sleeps in between is charged
/// several times the time that it uses. So there is evidence only if all processors together had too few ticks to reach
/// the limit.
pub(crate) fn killed_from_outside(exit: &Exit, cpu_limit: Option<Duration>) -> Option<String> {
    let killed = exit.reason == ExitReason::Signalled && exit.signal == Some(SIGKILL);
    let over_limit = cpu_limit.is_some_and(|limit| exit.cpu_counted_at_most >= limit);
    (killed && !over_limit).then(|| {
        format!(
            "the policy's process was killed from outside, by another process or for lack of memory on the machine; it had \
             used {:.1} s of CPU time and {} MiB of memory",
            exit.cpu.as_secs_f64(),
            exit.max_rss_bytes / (1024 * 1024)
        )
    })
}

/// Returns the end of an untrusted log as sanitised text.
pub(crate) fn log_text(tail: &[u8]) -> String {
    sanitise(&String::from_utf8_lossy(tail), LOG_TAIL_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kill after `age_s` on two processors, with 1 s of CPU time used.
    fn killed(age_s: u64) -> Exit {
        Exit {
            code: None,
            signal: Some(SIGKILL),
            reason: ExitReason::Signalled,
            cpu: Duration::from_secs(1),
            cpu_counted_at_most: Duration::from_secs(2 * age_s),
            max_rss_bytes: 0,
            output_bytes: 0,
        }
    }

    #[test]
    fn a_kill_that_a_policy_could_cause_itself_is_not_evidence() {
        let limit = Some(Duration::from_secs(16));
        assert!(killed_from_outside(&killed(7), limit).is_some(), "the limit of 16 s could not have been reached");
        // A policy that works across each tick can be charged for all of them.
        assert!(killed_from_outside(&killed(8), limit).is_none());
        let failure = PolicyFailure::exited(&killed(8), limit);
        assert!(failure.code == PolicyErrorCode::Exited && failure.message.contains("16 s of CPU time"), "{failure:?}");
    }
}
