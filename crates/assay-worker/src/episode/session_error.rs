//! Errors that keep a job's episodes from running, and their classification.

use std::error::Error;
use std::io;

use assay_store::{ObjectStorageError, is_disk_full};
use rustix::io::Errno;

use crate::episode::lane::LaneError;
use crate::episode::rejection::Rejection;

/// System errors that go away when space is freed or storage is available again.
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

/// An error that keeps a job's episodes from running. Never the policy's fault.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The job was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Simulator and policy worked longer than the caller allows.
    #[error("simulator and policy worked longer than allowed")]
    OverWorkLimit,
    /// The policy connected to another server of the site, which is to run the episodes.
    #[error("the policy is connected to another server")]
    PolicyElsewhere,
    /// The scenario cannot be run, which is its author's fault.
    #[error("the scenario can't be run: {0}")]
    Scenario(String),
    /// Storage, or another shared resource, is unavailable or exhausted; try again later.
    #[error(transparent)]
    Outage(Box<dyn Error + Send + Sync>),
    /// An episode was interrupted from outside each time it was started.
    #[error("episode {episode} was interrupted in each of {tries} attempts; the last time: {last}")]
    Interrupted {
        /// The index of the episode.
        episode: u32,
        /// Number of attempts.
        tries: u32,
        /// The evidence for the last interruption.
        last: String,
    },
    /// The lane, a jail, or another part of the service does not work.
    #[error(transparent)]
    Internal(Box<dyn Error + Send + Sync>),
    /// The receiver of events ended the session.
    #[error(transparent)]
    Rejected(#[from] Rejection),
}

impl SessionError {
    /// Converts an error of the machine to an outage if its cause is storage or another exhausted resource, otherwise
    /// to an internal error.
    pub(crate) fn of(error: impl Error + Send + Sync + 'static) -> Self {
        if is_outage(&error) { Self::Outage(Box::new(error)) } else { Self::Internal(Box::new(error)) }
    }

    /// Returns the error of a part of the service that did not keep its contract.
    pub(crate) fn internal(problem: &'static str) -> Self {
        Self::Internal(problem.into())
    }
}

/// Returns true if the file system, the object store, or another shared resource in short supply is the root cause of
/// an error.
pub(crate) fn is_outage(error: &(dyn Error + 'static)) -> bool {
    if is_disk_full(error) || matches!(error.downcast_ref(), Some(LaneError::DiskFull(_))) {
        return true;
    }
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<ObjectStorageError>() {
            return true;
        }
        let code = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        if code.is_some_and(|code| SHORTAGES.iter().any(|errno| errno.raw_os_error() == code)) {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use assay_model::ErrorChain;
    use assay_store::{ArchiveFileError, BlobError, ObjectStorageProblem};

    use super::*;

    #[test]
    fn a_full_or_broken_disk_is_an_outage_and_a_missing_file_is_not() {
        for errno in [Errno::NOSPC, Errno::IO, Errno::ROFS, Errno::NOMEM] {
            let lane = LaneError::Io(io::Error::from_raw_os_error(errno.raw_os_error()));
            let error = SessionError::of(lane);
            assert!(ErrorChain(&error).to_string().contains("os error"), "the cause is kept: {error:?}");
            assert!(matches!(error, SessionError::Outage(_)), "{errno}");
        }
        assert!(matches!(SessionError::of(LaneError::DiskFull("no room".into())), SessionError::Outage(_)));
        let problem = ObjectStorageProblem::Credentials;
        let store = ObjectStorageError { request: "upload", problem, detail: "status 403".into() };
        let error = SessionError::of(BlobError::Store(store.clone()));
        assert!(matches!(error, SessionError::Outage(_)), "{error:?}");
        assert!(matches!(SessionError::of(ArchiveFileError::Store(store)), SessionError::Outage(_)));
        let missing = LaneError::Io(io::Error::from_raw_os_error(Errno::NOENT.raw_os_error()));
        assert!(matches!(SessionError::of(missing), SessionError::Internal(_)));
    }
}
