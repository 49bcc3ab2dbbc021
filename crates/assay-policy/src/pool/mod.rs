//! Starts the processes of policies, from fork servers or from warm interpreters. A cold start costs 85 ms of CPU,
//! nearly all of it `import numpy`.
//!
//! A *fork server* has imported the runtime and forks a process for each episode of one policy ([`PolicyHome`]). Where
//! forking is not possible, each process is a warm interpreter that imported the runtime itself.
//!
//! A *member* is a jailed runner with numpy imported and an empty slot folder mounted read-only as `/policy`.
//! [`Pool::take`] copies the policy's files into the slot and sends LOAD. One long-lived thread spawns all members (the
//! jail's children die with the thread that spawned them) and lives until the last of them is gone. A member serves one
//! policy once.

mod command;
mod config;
mod error;
mod filler;
mod home;
mod load;
mod member;
mod models;
mod open_files;
mod preparing;
mod runner_files;
mod server;
pub(crate) mod shared;
mod slot;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use assay_jail::{Jail, MemoryError};

pub use config::{LoadLimits, PoolConfig, ProcessBudget};
pub use error::{PoolError, TakeError};
pub use home::PolicyHome;
pub use load::{LoadOutcome, LoadRequest};
pub use models::PolicyModel;
pub use preparing::PreparingPolicy;
use shared::PoolShared;

/// A pool of warm interpreters. Dropping it ends the idle ones; those that were taken live until they are finished.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<PoolShared>,
    filler: Option<JoinHandle<()>>,
}

impl Pool {
    /// Starts warming `config.size` interpreters; does not wait for them.
    ///
    /// # Errors
    /// [`PoolError`] if this machine can't run jails or the folder can't be used.
    pub fn new(config: PoolConfig) -> Result<Self, PoolError> {
        assay_jail::sweep_orphans();
        let jail = Jail::of(config.isolation)?;
        let shared = Arc::new(PoolShared::new(config, jail)?);
        let for_filler = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("policy-pool".to_owned());
        let filler = thread.spawn(move || filler::run(&for_filler)).map_err(PoolError::Thread)?;
        Ok(Self { shared, filler: Some(filler) })
    }

    /// Loads the policy in `policy_dir` (created by [`crate::intake`]) into a warm interpreter, pinned to `core`.
    /// `seed` seeds `random` and `numpy.random`; the pool's limits apply. Blocks until
    /// the policy is imported.
    ///
    /// # Errors
    /// [`TakeError`] for internal errors only. Faults of the policy are [`LoadOutcome::Failed`].
    pub fn take(&self, policy_dir: &Path, seed: u64, core: Option<usize>) -> Result<LoadOutcome, TakeError> {
        let allowance = self.shared.config.allowance();
        let home = PolicyHome::default();
        let policy_dir = policy_dir.to_owned();
        let order = LoadRequest { policy_dir, home, seed, core, allowance, replan_steps: None, patience: None };
        load::take(&self.shared, &order, &|| false)
    }

    /// Runs [`Self::take`] in the background, so that the next policy is imported while the current episode runs.
    ///
    /// # Errors
    /// [`PoolError::Thread`] if no thread can be started.
    pub fn prepare(&self, order: LoadRequest) -> Result<PreparingPolicy, PoolError> {
        PreparingPolicy::start(Arc::clone(&self.shared), order).map_err(PoolError::Thread)
    }

    /// Returns the reason why the runtime is on a disk and not in memory, if it is: then two jails can exchange bits
    /// through the file names that they look up in it.
    #[must_use]
    pub fn on_disk(&self) -> Option<&MemoryError> {
        self.shared.on_disk()
    }

    /// Returns the reason why policies are not forked, if they are not. Known only once a policy was loaded.
    #[must_use]
    pub fn cannot_fork(&self) -> Option<String> {
        self.shared.cannot_fork()
    }

    /// Returns the number of fork servers or interpreters that wait for a policy (some may still be importing numpy).
    #[must_use]
    pub fn idle(&self) -> usize {
        self.shared.idle()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // If policies are still in use, the thread must outlive the pool; it ends with the last of them.
        if self.shared.close()
            && let Some(filler) = self.filler.take()
        {
            drop(filler.join());
        }
    }
}
