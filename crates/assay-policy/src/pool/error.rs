//! Errors of the pool: internal errors, or problems of the machine.

use std::time::Duration;

use assay_jail::{JailError, SpawnError};

/// An error that prevented the creation of a pool.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// Jails are not available.
    #[error("could not start a jail")]
    Jail(#[from] JailError),
    /// A jail did not start.
    #[error("could not start a warm interpreter")]
    Spawn(#[from] SpawnError),
    /// The runner could not be copied to the pool's folder.
    #[error("could not prepare the pool's folder")]
    Folder(#[source] std::io::Error),
    /// The thread could not be started.
    #[error("could not start the pool's thread")]
    Thread(#[source] std::io::Error),
}

/// The reason why a policy could not be loaded, other than the policy itself.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// No interpreter could be started.
    #[error("could not start a warm interpreter")]
    Spawn(#[from] SpawnError),
    /// Interpreters died while starting.
    #[error("the policy runner does not start: {log}")]
    Runner {
        /// Its output.
        log: String,
    },
    /// The policy's files could not be copied.
    #[error("could not copy the policy's files into the jail")]
    Files(#[source] std::io::Error),
    /// Its memory could not be watched.
    #[error("could not watch the memory of the policy's process")]
    Watch(#[source] std::io::Error),
    /// Another process stopped or killed it before it was loaded; loading should be retried.
    #[error("the import was disturbed from outside: {0}")]
    Disturbed(String),
    /// The import exceeded the request's time limit.
    #[error("the import exceeded the caller's time limit")]
    GivenUp {
        /// CPU time of the import until then.
        cpu: Duration,
    },
    /// The pool was dropped.
    #[error("the pool of interpreters is closed")]
    Closed,
    /// The caller cancelled the request.
    #[error("loading the policy was cancelled")]
    Cancelled,
    /// The system provides no random numbers.
    #[error("the system provides no random numbers")]
    Random(#[source] std::io::Error),
}
