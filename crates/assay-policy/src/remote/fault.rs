//! Faults of policy servers: results, reported to the author of the policy.

use std::time::Duration;

use assay_model::frame::PolicyFault;
use assay_model::{PolicyErrorCode, sanitise};

use crate::{MESSAGE_BYTES, TRACEBACK_BYTES};

/// Beginning of the message of an answer that is not an action, sent by servers of assay's Python package.
const BAD_ACTION: &str = "BadAction: ";
/// First line of a group of exceptions in Python.
const GROUP: &str = "+ Exception Group Traceback";

/// The kind of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerFaultKind {
    /// There is no connection with the server, or it refused the key.
    Connect,
    /// The server reported an error.
    ServerError,
    /// The server sent an invalid answer.
    Protocol,
    /// The server sent an unsolicited message.
    Unasked,
    /// The server sent numbers that are not an action.
    BadAction,
    /// The server needs or offers something that the scenario does not.
    Mismatch,
    /// The server closed the connection.
    Closed,
    /// The server missed a deadline.
    Timeout,
    /// A policy that connected to the service reported a fault of its own.
    Reported(PolicyErrorCode),
}

impl ServerFaultKind {
    /// Returns the code under which the lane and the report know it.
    pub(crate) fn code(&self) -> PolicyErrorCode {
        match self {
            Self::Connect => PolicyErrorCode::Connect,
            Self::ServerError => PolicyErrorCode::ServerError,
            Self::Protocol | Self::Unasked => PolicyErrorCode::Protocol,
            Self::BadAction => PolicyErrorCode::BadAction,
            Self::Mismatch => PolicyErrorCode::Mismatch,
            Self::Closed => PolicyErrorCode::Closed,
            Self::Timeout => PolicyErrorCode::Timeout,
            Self::Reported(code) => code.clone(),
        }
    }
}

/// The reason why a server yields no action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerFault {
    pub(crate) kind: ServerFaultKind,
    pub(crate) message: String,
    /// The server's own text about it.
    pub(crate) detail: String,
}

impl ServerFault {
    fn new(kind: ServerFaultKind, message: impl AsRef<str>) -> Self {
        // Reduced to one line, so that text of a server cannot look like text of assay.
        let line = sanitise(message.as_ref(), usize::MAX).split_whitespace().collect::<Vec<_>>().join(" ");
        Self { kind, message: sanitise(&line, MESSAGE_BYTES), detail: String::new() }
    }

    /// Creates the fault of a failed connection.
    pub(crate) fn connect(why: impl AsRef<str>) -> Self {
        Self::new(ServerFaultKind::Connect, why)
    }

    /// Creates the fault of an invalid answer.
    pub(crate) fn protocol(what: impl AsRef<str>) -> Self {
        Self::invalid(ServerFaultKind::Protocol, what.as_ref())
    }

    /// Creates the fault of an unsolicited message.
    pub(crate) fn unasked() -> Self {
        Self::invalid(ServerFaultKind::Unasked, "an unsolicited message")
    }

    fn invalid(kind: ServerFaultKind, what: &str) -> Self {
        Self::new(kind, format!("the policy server sent an invalid answer: {what}"))
    }

    /// Creates the fault of numbers that are not an action.
    pub(crate) fn bad_action(what: impl AsRef<str>) -> Self {
        Self::new(ServerFaultKind::BadAction, what)
    }

    /// Creates the fault of a server that needs or offers something that the scenario does not.
    pub(crate) fn mismatch(what: impl AsRef<str>) -> Self {
        Self::new(ServerFaultKind::Mismatch, what)
    }

    /// Creates the fault of a server that closed the connection.
    pub(crate) fn closed(how: impl AsRef<str>) -> Self {
        Self::new(ServerFaultKind::Closed, format!("the policy server closed the connection{}", how.as_ref()))
    }

    /// Creates the fault of a missed deadline.
    pub(crate) fn timeout(doing: &str, limit: Duration) -> Self {
        let seconds = limit.as_secs_f64();
        Self::new(ServerFaultKind::Timeout, format!("the policy server did not {doing} within {seconds} s"))
    }

    /// Creates the fault of an error that the server reported, often a traceback. Servers of assay's own package report
    /// an answer that is not an action as [`BAD_ACTION`].
    pub(crate) fn server(text: &str) -> Self {
        let clean = sanitise(text, usize::MAX);
        let line = message_line(&clean);
        match line.strip_prefix(BAD_ACTION) {
            Some(what) => Self::bad_action(what),
            None => Self::server_line(format!("the policy server failed: {line}"), text),
        }
    }

    /// Creates the fault of an error reported in the answer that `message` describes; `text` is the server's own text.
    pub(crate) fn server_line(message: impl AsRef<str>, text: &str) -> Self {
        let text = sanitise(text, usize::MAX);
        let detail = end_of(text.trim(), TRACEBACK_BYTES).to_owned();
        Self { detail, ..Self::new(ServerFaultKind::ServerError, message) }
    }

    /// Creates the fault that a policy reports about itself.
    pub(crate) fn reported(code: PolicyErrorCode, message: &str, traceback: &str) -> Self {
        let detail = sanitise(end_of(traceback, TRACEBACK_BYTES), TRACEBACK_BYTES);
        Self { detail, ..Self::new(ServerFaultKind::Reported(code), message) }
    }

    /// Returns the frame's payload that reports it to the lane.
    pub(crate) fn to_wire(&self) -> PolicyFault {
        PolicyFault { code: self.kind.code(), message: self.message.clone(), traceback: self.detail.clone() }
    }
}

/// Returns the line of an error's text that has its type and message: in a traceback the one after the last frame,
/// since notes follow it; in that of a group its first, since a drawing follows it; otherwise the last.
fn message_line(text: &str) -> &str {
    let lines: Vec<&str> = text.lines().collect();
    let last = || lines.iter().rev().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or("no message");
    if lines.iter().any(|line| line.trim_start().starts_with(GROUP)) {
        let group = lines.iter().filter_map(|line| line.trim_start().strip_prefix("| "));
        let first = group.clone().find(|line| line.starts_with(|c: char| !c.is_whitespace()));
        return first.filter(|_| last().starts_with("+-")).unwrap_or_else(last);
    }
    let Some(frame) = lines.iter().rposition(|line| line.starts_with("  File \"")) else { return last() };
    let after = lines[frame + 1..].iter().find(|line| line.starts_with(|c: char| !c.is_whitespace()));
    after.map_or_else(last, |line| line.trim())
}

/// Returns the last `bytes` of a text, from the beginning of a character.
fn end_of(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsolicited_message_is_a_kind_of_its_own_and_a_protocol_error_on_the_wire() {
        let (unasked, posing) = (ServerFault::unasked(), ServerFault::protocol("an unsolicited message"));
        assert_eq!(unasked.to_wire(), posing.to_wire());
        assert_eq!(unasked.to_wire().code.as_str(), "protocol");
        assert_eq!(posing.kind, ServerFaultKind::Protocol, "its text alone does not make it one");
    }

    #[test]
    fn the_message_of_a_traceback_is_that_of_its_exception() {
        let frame = "Traceback (most recent call last):\n  File \"p.py\", line 2, in act\n    raise x\n    ^^^^^^^\n";
        let group = "  + Exception Group Traceback (most recent call last):\n  |   File \"p.py\", line 2, in act\n  \
                     | ExceptionGroup: several (1 sub-exception)\n  +-+---------------- 1 ----------------\n    \
                     | ValueError: a\n    +------------------------------------\n";
        for (text, expected) in [
            (format!("{frame}ValueError: no plan\n"), "ValueError: no plan"),
            (format!("{frame}ValueError: no plan\nhint: scale the input\n"), "ValueError: no plan"),
            (format!("{frame}ValueError: a\n  b\nc"), "ValueError: a"),
            (format!("{frame}KeyError: 1\n\nDuring handling:\n\n{frame}ValueError: b"), "ValueError: b"),
            (group.to_owned(), "ExceptionGroup: several (1 sub-exception)"),
            (format!("{frame}KeyError: 1\n\n{group}"), "ExceptionGroup: several (1 sub-exception)"),
            (format!("{group}ExceptionGroup: several: ValueError: a"), "ExceptionGroup: several: ValueError: a"),
            ("  File \"p.py\"\n    code\n".to_owned(), "code"),
            ("+ Exception Group Traceback".to_owned(), "+ Exception Group Traceback"),
        ] {
            assert_eq!(ServerFault::server(&text).message, format!("the policy server failed: {expected}"), "{text}");
        }
        let bad = ServerFault::server("BadAction: action[0] is 'left' (str), not a number");
        assert_eq!(
            (bad.kind.code().as_str(), bad.message.as_str()),
            ("bad_action", "action[0] is 'left' (str), not a number")
        );
    }

    #[test]
    fn every_kind_has_the_code_of_its_name() {
        let limit = Duration::from_secs(2);
        for (fault, code, message) in [
            (ServerFault::connect("no\nroute"), "connect", "no route"),
            (
                ServerFault::server("Traceback\n  x\nValueError: y\n"),
                "server_error",
                "the policy server failed: ValueError: y",
            ),
            (ServerFault::server(" \n"), "server_error", "the policy server failed: no message"),
            (ServerFault::server_line("500", "a\nb"), "server_error", "500"),
            (ServerFault::protocol("x"), "protocol", "the policy server sent an invalid answer: x"),
            (ServerFault::bad_action("x"), "bad_action", "x"),
            (ServerFault::mismatch("x"), "mismatch", "x"),
            (ServerFault::closed(": 1000"), "closed", "the policy server closed the connection: 1000"),
            (ServerFault::timeout("answer", limit), "timeout", "the policy server did not answer within 2 s"),
        ] {
            let wire = fault.to_wire();
            assert_eq!((wire.code.as_str(), wire.message.as_str()), (code, message));
        }
    }
}
