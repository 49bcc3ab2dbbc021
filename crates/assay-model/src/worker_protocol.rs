//! The messages between a server and its workers on other hosts: JSON over HTTPS, always requested by the worker.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AccountId, Assignment, AttemptNote, EpisodeResult, Fingerprint, JobId, Sha256Digest};

/// Version of the protocol, which is also in its paths. A server refuses workers of other versions with a message that
/// says which program to upgrade.
pub const WORKER_PROTOCOL: u32 = 1;
/// Path of the protocol on a server.
pub const WORKER_PROTOCOL_PATH: &str = "/worker/v1";
/// The content type of a packed file of evidence. The SHA-256 in its path is that of the unpacked file.
pub const PACKED_EVIDENCE: &str = "application/vnd.assay.pack";
/// Header with the registration that a request belongs to.
pub const GENERATION_HEADER: &str = "assay-worker-generation";
/// Maximum time that a worker may wait for an assignment, in seconds.
pub const MAX_CLAIM_WAIT_S: u32 = 50;
/// Maximum number of results in one request.
pub const MAX_RESULTS: usize = 16;
/// Default duration of a lease without renewal, in seconds.
pub const WORKER_LEASE_S: u32 = 30;
/// Interval at which a worker renews leases of the default duration, in seconds. It gives up those that it has not
/// renewed this long before their end.
pub const WORKER_HEARTBEAT_S: u32 = 5;

/// A worker's description of itself, sent when it starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkerRegistration {
    /// Its machine, for policies in the runtime `base`.
    pub machine: Fingerprint,
    /// SHA-256 of each installed policy runtime.
    pub runtimes: Vec<Sha256Digest>,
    /// True if it fetches others from the server.
    #[serde(default)]
    pub fetches_runtimes: bool,
    /// Number of lanes.
    pub lanes: u32,
    /// True if it renders images for policies.
    pub cameras: bool,
    /// True if it renders logs and videos of recorded episodes.
    #[serde(default)]
    pub renders: bool,
    /// Memory for each policy, in MiB.
    pub memory_mib: u32,
    /// The operator's labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Version of its program.
    pub version: String,
}

/// `POST /register`: the worker starts. The leases of its earlier process are void.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RegisterRequest {
    /// Version of the protocol: [`WORKER_PROTOCOL`].
    pub protocol: u32,
    /// The worker's description of itself.
    pub registration: WorkerRegistration,
}

/// The answer to [`RegisterRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RegisterAnswer {
    /// The worker's name.
    pub worker: String,
    /// Number of this registration, to be sent as [`GENERATION_HEADER`] with every request.
    pub generation: u32,
    /// Duration of a lease without renewal, in seconds.
    pub lease_s: u32,
    /// Interval at which leases are to be renewed, in seconds.
    pub beat_s: u32,
    /// Time that a policy may sleep in an episode, in seconds.
    pub wall_budget_s: f64,
    /// Additional seconds for each simulated second of the scenario's time limit.
    pub wall_budget_per_simulated_s: f64,
    /// True if the operator trusts the worker, so that it may ask for tasks that clients wait for.
    #[serde(default)]
    pub trusted: bool,
    /// Version of the server.
    pub version: String,
    /// True if files of evidence may be sent packed, as [`PACKED_EVIDENCE`].
    #[serde(default)]
    pub packed_evidence: bool,
    /// True if a claim may ask for jobs of policy servers too.
    #[serde(default)]
    pub shared_claims: bool,
}

/// The kind of shard that a worker asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WantedShard {
    /// Its policy runs on the worker.
    Policy,
    /// The next of those, only if its worlds are secret.
    Secret,
    /// Its policy is a server that the worker calls.
    Server,
}

/// `POST /claim`: asks for a shard, and waits for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClaimRequest {
    /// The kind of shard.
    pub wanted: WantedShard,
    /// True if a shard of [`WantedShard::Server`] will do as well; only if [`RegisterAnswer::shared_claims`] is true.
    #[serde(default)]
    pub or_server: bool,
    /// Accounts whose shards are not wanted, since their policies sleep here.
    pub excluded_accounts: Vec<AccountId>,
    /// Maximum time to wait, in seconds; at most [`MAX_CLAIM_WAIT_S`].
    pub wait_s: u32,
}

/// The answer to [`ClaimRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClaimAnswer {
    /// The shard, if there was one.
    pub shard: Option<LeasedShard>,
    /// Time that the server waited before it claimed, in milliseconds: the lease began that long after the request.
    pub waited_ms: u64,
    /// True if the worker is to finish what it runs, and to end.
    pub drain: bool,
}

/// A shard with the right to read its inputs and to write its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeasedShard {
    /// The right: opaque, bound to the worker, its registration and this claim.
    pub lease: String,
    /// The shard.
    pub assignment: Assignment,
}

/// `POST /beat`: renews leases and tells progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HeartbeatRequest {
    /// The leases held.
    pub leases: Vec<String>,
    /// Progress of running episodes.
    pub progress: Vec<RunningEpisode>,
}

/// The progress of an episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunningEpisode {
    /// The job.
    pub job_id: JobId,
    /// Index of the episode.
    pub episode: u32,
    /// Number of control steps so far.
    pub step: u32,
    /// Number of control steps of a whole episode.
    pub max_steps: u32,
}

/// The answer to [`HeartbeatRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HeartbeatAnswer {
    /// Leases that are lost: the worker must stop working on them.
    pub lost: Vec<String>,
    /// True if the worker is to finish what it runs, and to end.
    pub drain: bool,
}

/// The server that a policy runs on: `GET /leases/{lease}/server`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServerCall {
    /// Its URL, with any credentials.
    pub url: String,
    /// Its API key.
    pub api_key: Option<String>,
    /// Number of connections that it allows at the same time.
    pub concurrency: u32,
}

/// `GET /leases/{lease}/runtime`: the runtime of a policy as one file, a zip archive. Its content has the digest that
/// the assignment names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PackedRuntime {
    /// SHA-256 of the archive.
    pub sha256: Sha256Digest,
    /// Length of the archive in bytes.
    pub size_bytes: u64,
}

/// `POST /leases/{lease}/notes`: a fact about an unfinished episode, before anything else happens in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NoteRequest {
    /// The fact.
    pub note: AttemptNote,
}

/// `POST /results`: results whose evidence is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResultsRequest {
    /// At most [`MAX_RESULTS`].
    pub results: Vec<LeasedResult>,
}

/// A result under its lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeasedResult {
    /// The lease.
    pub lease: String,
    /// The result.
    pub result: EpisodeResult,
}

/// The answer to [`ResultsRequest`], in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResultsAnswer {
    /// The outcome of each result.
    pub outcomes: Vec<ResultOutcome>,
}

/// The outcome of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum ResultOutcome {
    /// It is durable.
    New {
        /// Number of episodes that the shard still lacks.
        left_in_shard: u32,
        /// Number of episodes that the job still lacks.
        left_in_job: u32,
    },
    /// The episode already has a result.
    Duplicate,
    /// The lease is lost.
    Fenced,
}

/// `POST /leases/{lease}/return`: the way in which a shard is given back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum ShardReturn {
    /// The worker is leaving, or it is another job's turn. Has no effect on a shard that is complete.
    Release,
    /// Something that it needs is unreachable. Counts no failure.
    Postpone {
        /// Time until it may be claimed again, in seconds.
        pause_s: u32,
        /// For the log.
        reason: String,
    },
    /// An internal error.
    Fail {
        /// For the job's owner.
        reason: String,
    },
    /// The scenario cannot be run.
    Scenario {
        /// For its author.
        message: String,
    },
}

/// `GET /leases/{lease}/scenario`: the files of a scenario's version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScenarioListing {
    /// The scenario's files below `scenario/`, those of each of its robots below `robots/ID/`.
    pub files: Vec<ScenarioFile>,
}

/// A file of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ScenarioFile {
    /// Its path, with `/` between folders.
    pub path: String,
    /// SHA-256 of the file.
    pub sha256: Sha256Digest,
    /// Length in bytes.
    pub size_bytes: u64,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_older_program_does_not_send_is_not_used() {
        let answer: RegisterAnswer = serde_json::from_value(json!({
            "worker": "gpu-07", "generation": 1, "lease_s": 30, "beat_s": 5, "wall_budget_s": 60.0,
            "wall_budget_per_simulated_s": 1.0, "version": "0.1.0",
        }))
        .unwrap();
        assert!(!answer.packed_evidence && !answer.trusted);
        let machine = json!({
            "mujoco": "3.17.0", "libmujoco_sha256": "22".repeat(32), "cpu_features": [], "glibc": "2.36",
            "numpy": "2.2.0", "blas_core": "HASWELL", "scorer_version": "2", "isolation": "namespaces",
        });
        let worker: WorkerRegistration = serde_json::from_value(json!({
            "machine": machine, "runtimes": [], "lanes": 1, "cameras": false, "memory_mib": 512, "version": "0.1.0",
        }))
        .unwrap();
        assert!(!worker.renders && !worker.fetches_runtimes && worker.labels.is_empty());
    }
}
