//! Exit codes of the process, and errors that carry one.

use std::process::ExitCode;

use assay_model::Verdict;
use assay_worker::{ReplayError, SessionError};

/// Exit codes of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// SAFE, a check that passed, or a command that succeeded.
    Success,
    /// UNSAFE, or a check that failed.
    Unsafe,
    /// Wrong usage or invalid input.
    Usage,
    /// INCONCLUSIVE, or a check that could not be completed because files are missing.
    Inconclusive,
    /// An internal error of assay, or a failure of the machine.
    Internal,
    /// Ctrl-C.
    Interrupted,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(match status {
            ExitStatus::Success => 0,
            ExitStatus::Unsafe => 1,
            ExitStatus::Usage => 2,
            ExitStatus::Inconclusive => 3,
            ExitStatus::Internal => 4,
            ExitStatus::Interrupted => 130,
        })
    }
}

impl From<Verdict> for ExitStatus {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Safe => Self::Success,
            Verdict::Unsafe => Self::Unsafe,
            Verdict::Inconclusive => Self::Inconclusive,
        }
    }
}

/// An error of a command, which determines its exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user can fix it: wrong usage or invalid input.
    Usage(anyhow::Error),
    /// assay or the machine failed.
    Internal(anyhow::Error),
    /// The user stopped the command.
    Interrupted,
}

impl Failure {
    /// Returns the exit status of the error.
    pub(crate) fn exit_status(&self) -> ExitStatus {
        match self {
            Self::Usage(_) => ExitStatus::Usage,
            Self::Internal(_) => ExitStatus::Internal,
            Self::Interrupted => ExitStatus::Interrupted,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage(error) | Self::Internal(error) => write!(f, "assay: {error:#}"),
            Self::Interrupted => f.write_str("assay: interrupted; nothing was left behind"),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Cancelled => Self::Interrupted,
            SessionError::Scenario(_) => Self::Usage(error.into()),
            // Reported by servers of a site only.
            SessionError::PolicyElsewhere
            | SessionError::OverWorkLimit
            | SessionError::Outage(_)
            | SessionError::Internal(_)
            | SessionError::Interrupted { .. }
            | SessionError::Rejected(_) => Self::Internal(error.into()),
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Session(error) => error.into(),
            ReplayError::OtherRecording { .. } | ReplayError::Unreadable(_) => Self::Usage(error.into()),
            ReplayError::Io(_) => Self::Internal(error.into()),
        }
    }
}

/// Converts errors into a [`Failure`].
pub(crate) trait OrFail<T> {
    /// Converts an error that the user can fix into [`Failure::Usage`].
    fn or_usage(self) -> Result<T, Failure>;
    /// Converts an error of assay or the machine into [`Failure::Internal`].
    fn or_internal(self) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrFail<T> for Result<T, E> {
    fn or_usage(self) -> Result<T, Failure> {
        self.map_err(|e| Failure::Usage(e.into()))
    }

    fn or_internal(self) -> Result<T, Failure> {
        self.map_err(|e| Failure::Internal(e.into()))
    }
}
