//! Faults of policy servers: results, reported to the author of the policy.

use std::time::Duration;

use assay_model::frame::PolicyFault;
use assay_model::sanitise;

use crate::{MESSAGE_BYTES, TRACEBACK_BYTES};

const UNASKED: &str = "a message that nobody asked for";

/// The reason why a server yields no action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerFault {
    /// `connect | server_error | protocol | bad_action | mismatch | closed | timeout`.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// The server's own text about it.
    pub(crate) detail: String,
}

impl ServerFault {
    pub(crate) fn new(code: &'static str, message: impl AsRef<str>) -> Self {
        // On a line of its own: text of a server must not look like text of assay.
        let line = sanitise(message.as_ref(), usize::MAX).split_whitespace().collect::<Vec<_>>().join(" ");
        Self { code, message: sanitise(&line, MESSAGE_BYTES), detail: String::new() }
    }

    /// The server sent an invalid answer.
    pub(crate) fn protocol(what: impl AsRef<str>) -> Self {
        Self::new("protocol", format!("the policy server sent what is no answer: {}", what.as_ref()))
    }

    /// The server sent an unsolicited message.
    pub(crate) fn unasked() -> Self {
        Self::protocol(UNASKED)
    }

    /// Returns whether it is [`Self::unasked`].
    pub(crate) fn is_unasked(&self) -> bool {
        self.code == "protocol" && self.message.ends_with(UNASKED)
    }

    /// The server sent numbers that are not an action.
    pub(crate) fn bad_action(what: impl AsRef<str>) -> Self {
        Self::new("bad_action", what)
    }

    /// The server needs or offers something that the scenario does not.
    pub(crate) fn mismatch(what: impl AsRef<str>) -> Self {
        Self::new("mismatch", what)
    }

    /// The server closed the connection.
    pub(crate) fn closed(how: impl AsRef<str>) -> Self {
        Self::new("closed", format!("the policy server closed the connection{}", how.as_ref()))
    }

    /// The server missed a deadline.
    pub(crate) fn timeout(doing: &str, limit: Duration) -> Self {
        let seconds = limit.as_secs_f64();
        Self::new("timeout", format!("the policy server did not {doing} within {seconds} s"))
    }

    /// The server reported an error. The last line of a traceback is its message.
    pub(crate) fn server(text: &str) -> Self {
        let text = sanitise(text, usize::MAX);
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no message");
        let mut fault = Self::new("server_error", format!("the policy server failed: {last}"));
        fault.detail = end_of(text.trim(), TRACEBACK_BYTES).to_owned();
        fault
    }

    pub(crate) fn to_wire(&self) -> PolicyFault {
        PolicyFault { code: self.code.to_owned(), message: self.message.clone(), traceback: self.detail.clone() }
    }
}

/// Returns the last `bytes` of a text, from the beginning of a character.
fn end_of(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[from..]
}
