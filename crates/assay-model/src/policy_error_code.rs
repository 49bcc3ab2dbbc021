//! Codes of policy errors, shared by the runner's frames, records and reports.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Reason why an episode could not begin or ended early, as a short word in frames, records and reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyErrorCode {
    /// The policy raised an exception during its import. Reported by the runner.
    ImportError,
    /// A file of the policy is not valid Python. Reported by the runner.
    SyntaxError,
    /// There is no `policy.py`, or no policy in it. Reported by the runner.
    NoPolicy,
    /// The network of a policy without code cannot be loaded, or is not what the policy declares. Reported by the
    /// runner.
    Adapter,
    /// The policy raised an exception after its import. Reported by the runner.
    Exception,
    /// An action has the wrong shape, or contains values that are not finite numbers. Reported by the runner, by the
    /// relay of a policy server, and by the lane.
    BadAction,
    /// The policy exceeded its memory limit. Reported by the runner, and by the pool of runners and the worker, which
    /// see what it has written.
    Memory,
    /// The import took too much CPU time, slept too long, or left a thread running. Reported by the pool of runners,
    /// and by the lane.
    ImportTimeout,
    /// An answer took too much CPU time, or did not arrive. Reported by the lane, by the relay of a policy server, and
    /// by the worker (which detects sleeping, and limits a preflight).
    Timeout,
    /// The policy slept longer than an episode allows. Reported by the worker.
    WallBudget,
    /// The process ended without an answer. Reported by the pool of runners, and by the lane; the worker adds the
    /// cause.
    Exited,
    /// The policy printed too much and was stopped. Reported by the pool of runners, and by the worker.
    LogFlood,
    /// The policy or its server sent something other than an answer. Reported by the pool of runners, by the relay of a
    /// policy server, and by the lane.
    Protocol,
    /// The policy server could not be reached, or refused the key. Reported by the relay.
    Connect,
    /// The policy server reported an error. Reported by the relay.
    ServerError,
    /// The policy server, or the declaration of a policy without code, requires or provides something that does not
    /// match the scenario. Reported by the relay, and by the worker.
    Mismatch,
    /// The policy server closed the connection. Reported by the relay.
    Closed,
    /// The simulation became unstable. Reported by the lane.
    Unstable,
    /// The simulator died twice in the same way. Reported by the worker.
    SimulatorDied,
    /// Every permitted attempt was interrupted from outside. Reported by the worker.
    CutOff,
    /// A code of another version of assay, read from a record or a report. This version never reports it.
    Other(OtherCode),
}

/// A code other than the named ones, kept unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherCode(Box<str>);

/// Implements both directions from one table, so that a code without a name does not compile.
macro_rules! names {
    ($($code:ident = $name:literal),+ $(,)?) => {
        impl PolicyErrorCode {
            /// All named codes.
            pub const NAMED: &[Self] = &[$(Self::$code),+];

            /// Returns the code as written in frames, records and reports.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$code => $name,)+
                    Self::Other(OtherCode(text)) => text,
                }
            }

            /// Parses the output of [`Self::as_str`]; any other text becomes [`Self::Other`].
            #[must_use]
            pub fn parse(text: &str) -> Self {
                match text {
                    $($name => Self::$code,)+
                    other => Self::Other(OtherCode(other.into())),
                }
            }
        }
    };
}

names! {
    ImportError = "import_error",
    SyntaxError = "syntax_error",
    NoPolicy = "no_policy",
    Adapter = "adapter",
    Exception = "exception",
    BadAction = "bad_action",
    Memory = "memory",
    ImportTimeout = "import_timeout",
    Timeout = "timeout",
    WallBudget = "wall_budget",
    Exited = "exited",
    LogFlood = "log_flood",
    Protocol = "protocol",
    Connect = "connect",
    ServerError = "server_error",
    Mismatch = "mismatch",
    Closed = "closed",
    Unstable = "unstable",
    SimulatorDied = "simulator_died",
    CutOff = "cut_off",
}

impl PolicyErrorCode {
    /// Returns whether the runner reports the code. All others are observed from outside the policy's process, which
    /// must not be able to claim them.
    #[must_use]
    pub fn is_reported_by_runner(&self) -> bool {
        match self {
            Self::ImportError
            | Self::SyntaxError
            | Self::NoPolicy
            | Self::Adapter
            | Self::Exception
            | Self::BadAction
            | Self::Memory => true,
            Self::ImportTimeout
            | Self::Timeout
            | Self::WallBudget
            | Self::Exited
            | Self::LogFlood
            | Self::Protocol
            | Self::Connect
            | Self::ServerError
            | Self::Mismatch
            | Self::Closed
            | Self::Unstable
            | Self::SimulatorDied
            | Self::CutOff
            | Self::Other(_) => false,
        }
    }

    /// Returns whether the code means that the policy exceeded a time limit.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::ImportTimeout | Self::Timeout | Self::WallBudget => true,
            Self::ImportError
            | Self::SyntaxError
            | Self::NoPolicy
            | Self::Adapter
            | Self::Exception
            | Self::BadAction
            | Self::Memory
            | Self::Exited
            | Self::LogFlood
            | Self::Protocol
            | Self::Connect
            | Self::ServerError
            | Self::Mismatch
            | Self::Closed
            | Self::Unstable
            | Self::SimulatorDied
            | Self::CutOff
            | Self::Other(_) => false,
        }
    }
}

impl fmt::Display for PolicyErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for PolicyErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for PolicyErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::parse(&text))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Strings in frames, records and reports, which must never change.
    const STRINGS: [(PolicyErrorCode, &str); 20] = [
        (PolicyErrorCode::ImportError, "import_error"),
        (PolicyErrorCode::SyntaxError, "syntax_error"),
        (PolicyErrorCode::NoPolicy, "no_policy"),
        (PolicyErrorCode::Adapter, "adapter"),
        (PolicyErrorCode::Exception, "exception"),
        (PolicyErrorCode::BadAction, "bad_action"),
        (PolicyErrorCode::Memory, "memory"),
        (PolicyErrorCode::ImportTimeout, "import_timeout"),
        (PolicyErrorCode::Timeout, "timeout"),
        (PolicyErrorCode::WallBudget, "wall_budget"),
        (PolicyErrorCode::Exited, "exited"),
        (PolicyErrorCode::LogFlood, "log_flood"),
        (PolicyErrorCode::Protocol, "protocol"),
        (PolicyErrorCode::Connect, "connect"),
        (PolicyErrorCode::ServerError, "server_error"),
        (PolicyErrorCode::Mismatch, "mismatch"),
        (PolicyErrorCode::Closed, "closed"),
        (PolicyErrorCode::Unstable, "unstable"),
        (PolicyErrorCode::SimulatorDied, "simulator_died"),
        (PolicyErrorCode::CutOff, "cut_off"),
    ];

    #[test]
    fn every_code_has_its_string() {
        let codes: Vec<_> = STRINGS.iter().map(|(code, _)| code.clone()).collect();
        assert_eq!(codes, PolicyErrorCode::NAMED);
        for (code, text) in STRINGS {
            let json = format!("\"{text}\"");
            assert_eq!((code.as_str(), code.to_string().as_str()), (text, text));
            assert_eq!(PolicyErrorCode::parse(text), code);
            assert_eq!(serde_json::to_string(&code).unwrap(), json);
            assert_eq!(serde_json::from_str::<PolicyErrorCode>(&json).unwrap(), code);
        }
    }

    #[test]
    fn other_text_is_kept() {
        for text in ["not_finite", "", "Timeout", "timeout ", "\u{1b}[31m", &"x".repeat(10_000)] {
            let code = PolicyErrorCode::parse(text);
            assert!(matches!(code, PolicyErrorCode::Other(_)) && !code.is_reported_by_runner(), "{text}");
            assert_eq!(code.as_str(), text);
            let json = serde_json::to_string(&code).unwrap();
            assert_eq!(serde_json::from_str::<PolicyErrorCode>(&json).unwrap(), code);
        }
        for json in ["null", "7", "{\"timeout\":null}", "[\"timeout\"]"] {
            assert!(serde_json::from_str::<PolicyErrorCode>(json).is_err(), "{json}");
        }
    }
}
