//! The request of a worker that claims a shard, and the demands of jobs on their workers.

use std::collections::BTreeMap;

use assay_model::{AccountId, Fingerprint, JobId, Sha256Digest};

/// A worker's request for a shard.
#[derive(Debug, Clone, PartialEq)]
pub struct ShardRequest {
    /// Name of the worker in the records.
    pub worker: String,
    /// The kind of shards that it asks for.
    pub kind: ShardKind,
    /// Accounts whose shards are excluded.
    pub excluded_accounts: Vec<AccountId>,
    /// Jobs, or single shards of them, that are excluded.
    pub excluded_shards: Vec<ExcludedShards>,
    /// The worker's capabilities.
    pub capabilities: WorkerCapabilities,
}

impl ShardRequest {
    /// Creates a request of `worker`, which can run everything, for a shard whose policy it runs itself.
    #[must_use]
    pub fn new(worker: &str) -> Self {
        let capabilities = WorkerCapabilities::everything();
        let (excluded_accounts, excluded_shards) = (Vec::new(), Vec::new());
        Self { worker: worker.to_owned(), kind: ShardKind::Policy, excluded_accounts, excluded_shards, capabilities }
    }

    /// Replaces the kind of shards.
    #[must_use]
    pub fn of_kind(self, kind: ShardKind) -> Self {
        Self { kind, ..self }
    }

    /// Excludes the shards of `accounts`.
    #[must_use]
    pub fn excluding(self, accounts: &[AccountId]) -> Self {
        Self { excluded_accounts: accounts.to_vec(), ..self }
    }
}

/// Shards that a worker is not to be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExcludedShards {
    /// The job.
    pub job: JobId,
    /// The shard; `None` for all shards of the job.
    pub shard: Option<u32>,
}

impl ExcludedShards {
    /// Returns the text that the statements of the backends compare: `JOB` or `JOB/SHARD`.
    pub(crate) fn key(&self) -> String {
        self.shard.map_or_else(|| self.job.to_string(), |shard| format!("{}/{shard}", self.job))
    }
}

/// The kind of shards that a claim may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardKind {
    /// Shards of jobs whose policy the worker runs itself.
    Policy,
    /// The next of those, only if its worlds are secret ([`crate::Claim::is_secret`]).
    Secret,
    /// Shards of jobs whose policy is a server. Such a job has a single shard, so its holder knows of all connections
    /// to that server.
    Server,
}

/// The capabilities of a worker.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerCapabilities {
    /// The worker's machine. All episodes of a job run on machines with the same fingerprint; `None` takes jobs of any
    /// machine and pins none.
    pub machine: Option<Fingerprint>,
    /// Digests of the installed policy runtimes; `None` for all.
    pub runtimes: Option<Vec<Sha256Digest>>,
    /// True if images for policies can be rendered.
    pub cameras: bool,
    /// Memory that a policy may use, in MiB.
    pub memory_mib: u32,
    /// The work that may leave the server for this worker.
    pub trust: Confinement,
    /// Its labels, by name: jobs may demand some.
    pub labels: BTreeMap<String, String>,
}

impl WorkerCapabilities {
    /// Returns the capabilities of a worker inside the server, on an unnamed machine and without labels.
    #[must_use]
    pub fn everything() -> Self {
        Self {
            machine: None,
            runtimes: None,
            cameras: true,
            memory_mib: u32::MAX,
            trust: Confinement::Server,
            labels: BTreeMap::new(),
        }
    }
}

/// Returns labels as the statements of the backends compare them: a list of `NAME=VALUE`.
pub(crate) fn label_texts(labels: &BTreeMap<String, String>) -> Vec<String> {
    labels.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// The workers that a job may be given to. A worker takes those of its own level and of the lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Confinement {
    /// It runs on any worker.
    #[default]
    Anywhere,
    /// It runs in the secret worlds of a season: on the server, and on workers that the operator trusts.
    Trusted,
    /// It runs on the server, because its policy connects to the server.
    Server,
}

impl Confinement {
    /// Returns the level as a number: 0, 1, 2.
    #[must_use]
    pub fn level(self) -> u8 {
        match self {
            Self::Anywhere => 0,
            Self::Trusted => 1,
            Self::Server => 2,
        }
    }
}

/// Demands of a job on its workers, besides its runtime and cameras, which its header names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobDemands {
    /// Memory of its policy, in MiB.
    pub memory_mib: u32,
    /// True if the policy connects to the server instead of being called.
    pub connects: bool,
}
