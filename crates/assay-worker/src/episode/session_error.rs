//! Errors that prevent a job's episodes from running, and their classification.

use std::error::Error;
use std::io;

use assay_store::is_disk_full;
use rustix::io::Errno;

use crate::episode::lane::LaneError;

/// System errors that are resolved when space is freed or storage is available again.
const SHORTAGES: [Errno; 9] = [
    Errno::IO,
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::ROFS,
    Errno::STALE,
    Errno::NFILE,
    Errno::MFILE,
    Errno::AGAIN,
    Errno::NOMEM,
];

/// An error that prevents a job's episodes from running. Never the policy's fault.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The job was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The scenario cannot be run; its author's fault.
    #[error("the scenario can't be run: {0}")]
    Scenario(String),
    /// Storage is unavailable or full; try again later.
    #[error("{0}")]
    Outage(String),
    /// The lane or a jail does not work.
    #[error("{0}")]
    Platform(String),
    /// The receiver of results failed.
    #[error("{0}")]
    Rejected(String),
}

/// Returns an error with all its causes as an internal error, or as an outage if storage is the cause.
pub(crate) fn platform(error: &(dyn Error + 'static)) -> SessionError {
    if is_storage(error) { outage(error) } else { SessionError::Platform(with_causes(error)) }
}

/// Returns an error with all its causes as an outage of storage.
pub(crate) fn outage(error: &dyn Error) -> SessionError {
    SessionError::Outage(with_causes(error))
}

/// True if the file system, or another shared resource in short supply, is the root of an error.
pub(crate) fn is_storage(error: &(dyn Error + 'static)) -> bool {
    if is_disk_full(error) || matches!(error.downcast_ref(), Some(LaneError::DiskFull(_))) {
        return true;
    }
    let mut cause = Some(error);
    while let Some(error) = cause {
        let code = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        if code.is_some_and(|code| SHORTAGES.iter().any(|errno| errno.raw_os_error() == code)) {
            return true;
        }
        cause = error.source();
    }
    false
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_or_broken_disk_is_an_outage_and_a_missing_file_is_not() {
        for errno in [Errno::NOSPC, Errno::IO, Errno::ROFS, Errno::NOMEM] {
            let lane = LaneError::Io(io::Error::from_raw_os_error(errno.raw_os_error()));
            assert!(matches!(platform(&lane), SessionError::Outage(text) if text.contains("os error")), "{errno}");
        }
        assert!(matches!(platform(&LaneError::DiskFull("no room".into())), SessionError::Outage(_)));
        let missing = LaneError::Io(io::Error::from_raw_os_error(Errno::NOENT.raw_os_error()));
        assert!(matches!(platform(&missing), SessionError::Platform(_)));
    }
}
