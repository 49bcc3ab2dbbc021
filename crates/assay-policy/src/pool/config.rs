//! Configuration of a pool.

use std::path::PathBuf;
use std::time::Duration;

use assay_jail::{ProcessLimits, Profile};
use assay_model::Isolation;

use crate::Runtime;

/// Time limits of loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadLimits {
    /// CPU time of the policy's import: its budget.
    pub import_cpu: Duration,
    /// Maximum time for which the import may sleep, or be stopped from outside.
    pub import_wall: Duration,
    /// Maximum wall-clock time of an interpreter's start. Nothing of a policy runs in it, so it only ends what hangs:
    /// an interpreter that is starved of CPU takes long to import a large library.
    pub start_wall: Duration,
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self {
            import_cpu: Duration::from_secs(10),
            import_wall: Duration::from_secs(60),
            start_wall: Duration::from_secs(600),
        }
    }
}

/// The resources of one policy: its scenario's budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessBudget {
    /// CPU time of the import.
    pub import_cpu: Duration,
    /// CPU time of the whole process, in s. The pool's own limit applies if it is lower.
    pub cpu_s: u64,
    /// Address space in bytes. The pool's own limit applies if it is lower.
    pub memory_bytes: u64,
}

/// The configuration of a pool.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// The number of idle interpreters to keep: slightly more than there are lanes. Each takes 33 MB (15 MB of them
    /// unshared).
    pub size: usize,
    /// The maximum number of idle fork servers, each of which serves a policy for many episodes: one for each lane, as
    /// a runtime with PyTorch takes 1.3 s of CPU time for each.
    pub servers: usize,
    /// The Python runtime.
    pub runtime: Runtime,
    /// An existing folder to work in. If this process is root, the jail's user must be able to reach it.
    pub work_dir: PathBuf,
    /// Limits of each process.
    pub limits: ProcessLimits,
    /// Limits of loading.
    pub load: LoadLimits,
    /// The tier of its jails.
    pub isolation: Isolation,
    /// The number of policies that are expected, if it is known: no more fork servers are started in advance.
    pub policies: Option<usize>,
    /// True if processes are forked where that is possible, which needs namespaces; otherwise each is an interpreter of
    /// its own.
    pub forks: bool,
}

impl PoolConfig {
    /// Returns the budget that the pool's own limits allow.
    pub(super) fn allowance(&self) -> ProcessBudget {
        let ProcessLimits { cpu_s, address_space_bytes, .. } = self.limits;
        ProcessBudget { import_cpu: self.load.import_cpu, cpu_s, memory_bytes: address_space_bytes }
    }

    /// Returns the defaults for `size` interpreters.
    #[must_use]
    pub fn new(size: usize, runtime: Runtime, work_dir: impl Into<PathBuf>) -> Self {
        let limits = ProcessLimits::of(Profile::Policy);
        let isolation = Isolation::Namespaces;
        Self {
            size,
            servers: size,
            runtime,
            work_dir: work_dir.into(),
            limits,
            load: LoadLimits::default(),
            isolation,
            policies: None,
            forks: true,
        }
    }
}
