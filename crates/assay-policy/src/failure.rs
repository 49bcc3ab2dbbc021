//! What a policy did wrong, fit to be kept and shown.

use assay_jail::{Exit, ExitReason};
use assay_model::frame::PolicyFault;
use assay_model::sanitise;

/// Longest message kept, in bytes.
pub const MESSAGE_BYTES: usize = 2 * 1024;
/// Longest traceback kept, in bytes.
pub const TRACEBACK_BYTES: usize = 16 * 1024;
/// Longest end of the log kept, in bytes.
pub const LOG_TAIL_BYTES: usize = 64 * 1024;
/// Longest code kept, in bytes.
const CODE_BYTES: usize = 32;

/// Signal numbers with a meaning for the author.
const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;
const SIGSYS: i32 = 31;

/// A policy that could not be loaded: a result, with the author to blame. All text is sanitised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFailure {
    /// `import_error | syntax_error | no_policy | exception | memory` as the runner says, or as seen from outside
    /// `import_timeout | exited | protocol | log_flood`.
    pub code: String,
    /// One line for the author.
    pub message: String,
    /// Python traceback of the author's own frames; empty when there is none.
    pub traceback: String,
    /// The end of what it printed.
    pub log_tail: String,
}

impl PolicyFailure {
    pub(crate) fn told(fault: &PolicyFault) -> Self {
        Self {
            code: sanitise(&fault.code, CODE_BYTES),
            message: sanitise(&fault.message, MESSAGE_BYTES),
            traceback: sanitise(&fault.traceback, TRACEBACK_BYTES),
            log_tail: String::new(),
        }
    }

    pub(crate) fn seen(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), traceback: String::new(), log_tail: String::new() }
    }

    /// It ended without an answer.
    pub(crate) fn exited(exit: &Exit) -> Self {
        if exit.reason == ExitReason::Flooded {
            let limit = assay_jail::FLOOD_BYTES / (1024 * 1024);
            return Self::seen("log_flood", format!("the policy printed more than {limit} MiB and was stopped"));
        }
        let how = match (exit.signal, exit.code) {
            (Some(SIGSYS), _) => "the policy made a system call that no policy may make and was stopped".to_owned(),
            (Some(SIGSEGV), _) => "the policy's process crashed (segmentation fault)".to_owned(),
            (Some(SIGKILL), _) => "the policy's process was killed (over its CPU or memory limit)".to_owned(),
            (Some(signal), _) => format!("the policy's process was ended by signal {signal}"),
            (None, code) => format!("the policy's process ended by itself (status {})", code.unwrap_or(0)),
        };
        Self::seen("exited", how)
    }

    pub(crate) fn with_log(mut self, tail: &[u8]) -> Self {
        self.log_tail = log_text(tail);
        self
    }
}

/// The end of an untrusted log as text.
pub(crate) fn log_text(tail: &[u8]) -> String {
    sanitise(&String::from_utf8_lossy(tail), LOG_TAIL_BYTES)
}
