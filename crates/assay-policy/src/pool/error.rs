//! Failures of the pool: internal errors, or problems of the machine.

use std::time::Duration;

use assay_jail::{JailError, SpawnError};

/// A failure to create a pool.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// Jails are not available.
    #[error("no jail can be started")]
    Jail(#[from] JailError),
    /// A jail did not start.
    #[error("no warm interpreter can be started")]
    Spawn(#[from] SpawnError),
    /// The runner can't be placed.
    #[error("can't prepare the pool's folder")]
    Folder(#[source] std::io::Error),
    /// No thread.
    #[error("can't start the pool's thread")]
    Thread(#[source] std::io::Error),
}

/// A policy that could not be tried: an internal error, a problem of the machine, or the caller's request.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// No interpreter could be started.
    #[error("no warm interpreter can be started")]
    Spawn(#[from] SpawnError),
    /// Interpreters died while starting.
    #[error("the policy runner does not start: {log}")]
    Runner {
        /// Its output.
        log: String,
    },
    /// The policy's files could not be copied.
    #[error("can't put the policy's files into the jail")]
    Files(#[source] std::io::Error),
    /// Another process stopped or killed it before it was loaded; loading should be retried.
    #[error("the import was disturbed from outside: {0}")]
    Disturbed(String),
    /// It was still being imported when the order's patience ended.
    #[error("the import was given up")]
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
    #[error("the system has no random numbers")]
    Random(#[source] std::io::Error),
}
