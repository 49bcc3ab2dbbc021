//! Errors that keep the engine from starting.

use std::io;

/// An error that prevents the engine from starting.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No jail is available.
    #[error("policies and simulators can't be isolated on this machine; run `assay doctor`")]
    Jail(#[from] assay_jail::JailError),
    /// The lane program cannot run in a jail.
    #[error("could not prepare the lane program")]
    Lane(#[from] assay_jail::ProgramError),
    /// Files could not be made accessible to the jail's user.
    #[error("could not make files readable for the jail")]
    Stage(#[from] assay_jail::StageError),
    /// The Python for policies is missing or unusable.
    #[error("could not load the Python that runs policies")]
    Runtime(#[from] assay_policy::RuntimeError),
    /// The pool of interpreters did not start.
    #[error("could not start the pool of interpreters")]
    Pool(#[from] assay_policy::PoolError),
    /// The threads for policy servers could not be started.
    #[error("could not start the threads for policy servers")]
    Remote(#[source] io::Error),
    /// A scenario in the library is invalid.
    #[error("could not load the scenario library")]
    Library(#[from] assay_scenario::LibraryError),
    /// A temporary folder could not be created.
    #[error("could not create a temporary folder")]
    Scratch(#[source] io::Error),
    /// A file needed for the fingerprint is missing or unreadable.
    #[error("could not read {0} for the fingerprint")]
    Fingerprint(String, #[source] io::Error),
}
