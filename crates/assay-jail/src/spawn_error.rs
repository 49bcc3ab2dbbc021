//! Error of starting a jail.

use std::path::PathBuf;

use crate::reachable::ClosedPath;

/// The reason why a jail could not be started: an internal error, or a limitation of the machine.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// A bind whose source does not exist.
    #[error("the jail's source {path} does not exist")]
    NoSource {
        /// The path on the host.
        path: PathBuf,
    },
    /// A bind that the jail's user cannot reach.
    #[error("the jail's user cannot reach a source of the jail")]
    Unreachable(#[from] ClosedPath),
    /// A system call failed.
    #[error("could not start a jail: could not {doing}")]
    Io {
        /// The failed operation.
        doing: &'static str,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The tier needs Landlock.
    #[error("this kernel has no Landlock")]
    NoLandlock,
    /// bubblewrap failed.
    #[error("bubblewrap could not create the jail: {message}")]
    Bubblewrap {
        /// Its output.
        message: String,
    },
}

impl SpawnError {
    /// Returns true for a shortage of processes, memory or descriptors, which may be over at the next attempt.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        let Self::Io { source, .. } = self else { return false };
        let shortages = [libc::EAGAIN, libc::ENOMEM, libc::EMFILE, libc::ENFILE, libc::EINTR];
        source.raw_os_error().is_some_and(|code| shortages.contains(&code))
    }
}

/// Returns a function that adds the failed operation to an I/O error.
pub(crate) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> SpawnError {
    move |source| SpawnError::Io { doing, source }
}
