//! Finds out how the processes of policies start on this machine: forked, or as interpreters of their own.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::{LoadOutcome, PolicyConnection, Pool, PoolConfig, PoolError, TakeError};

const POLICY: &str = "def policy(observation):\n    return []\n";

/// An internal error that prevented the check.
#[derive(Debug, thiserror::Error)]
pub enum ForkingCheckError {
    /// The policy's files could not be written.
    #[error("could not write the files of a policy")]
    Files(#[source] std::io::Error),
    /// The pool could not be started.
    #[error("could not start a pool for one policy")]
    Pool(#[from] PoolError),
    /// A jail could not be started.
    #[error("could not start a policy")]
    Take(#[from] TakeError),
    /// A policy that does nothing was not loaded.
    #[error("could not load a policy that does nothing: {0}")]
    NotLoaded(String),
}

/// Starts a policy that does nothing. Returns the reason why it is not forked; `None` if it is.
///
/// # Errors
/// [`ForkingCheckError`]
pub fn check_forking(config: PoolConfig) -> Result<Option<String>, ForkingCheckError> {
    let folder = tempfile::tempdir_in(&config.work_dir).map_err(ForkingCheckError::Files)?;
    // The jail's user must be able to enter it.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).map_err(ForkingCheckError::Files)?;
    fs::write(folder.path().join("policy.py"), POLICY).map_err(ForkingCheckError::Files)?;
    let pool = Pool::new(PoolConfig { size: 0, ..config })?;
    if let Some(why) = pool.cannot_fork() {
        return Ok(Some(why));
    }
    match pool.take(folder.path(), 1, None)? {
        LoadOutcome::Ready(policy) => drop(policy.abort()),
        LoadOutcome::Failed(failure) => return Err(ForkingCheckError::NotLoaded(failure.message)),
    }
    Ok(pool.cannot_fork())
}
