//! Exit codes, and errors that know theirs.

use std::process::ExitCode;

use assay_model::Verdict;
use assay_worker::{ReplayError, SessionError};

/// Exit codes of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// SAFE, or a check that holds, or a command that did its work.
    Success,
    /// UNSAFE, or a check that does not hold.
    Unsafe,
    /// Wrong use or wrong input.
    Usage,
    /// INCONCLUSIVE, or a check that lacks something to look at.
    Inconclusive,
    /// Our own failure.
    Failure,
    /// Ctrl-C.
    Interrupted,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(match code {
            Code::Success => 0,
            Code::Unsafe => 1,
            Code::Usage => 2,
            Code::Inconclusive => 3,
            Code::Failure => 4,
            Code::Interrupted => 130,
        })
    }
}

impl From<Verdict> for Code {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Safe => Self::Success,
            Verdict::Unsafe => Self::Unsafe,
            Verdict::Inconclusive => Self::Inconclusive,
        }
    }
}

/// An error with its exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The caller can mend it.
    Usage(anyhow::Error),
    /// We (or the machine) failed.
    Ours(anyhow::Error),
    /// The caller stopped us.
    Interrupted,
}

impl Failure {
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Usage(_) => Code::Usage,
            Self::Ours(_) => Code::Failure,
            Self::Interrupted => Code::Interrupted,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(error) | Self::Ours(error) => write!(f, "assay: {error:#}"),
            Self::Interrupted => f.write_str("assay: interrupted; nothing was left behind"),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Cancelled => Self::Interrupted,
            SessionError::Scenario(_) => Self::Usage(error.into()),
            SessionError::Outage(_)
            | SessionError::Internal(_)
            | SessionError::Interrupted { .. }
            | SessionError::Rejected(_) => Self::Ours(error.into()),
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Session(error) => error.into(),
            ReplayError::OtherRecording { .. } | ReplayError::Unreadable(_) => Self::Usage(error.into()),
            ReplayError::Io(_) => Self::Ours(error.into()),
        }
    }
}

/// Turns an error into a [`Failure`].
pub(crate) trait OrFail<T> {
    /// The caller's fault.
    fn usage(self) -> Result<T, Failure>;
    /// Ours.
    fn ours(self) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrFail<T> for Result<T, E> {
    fn usage(self) -> Result<T, Failure> {
        self.map_err(|e| Failure::Usage(e.into()))
    }

    fn ours(self) -> Result<T, Failure> {
        self.map_err(|e| Failure::Ours(e.into()))
    }
}
