//! The messages about tasks that a client waits for: replays, preflights, and checks of scenarios before they are
//! published. Part of the worker protocol. Only workers that the operator trusts get them, since nothing that they say
//! can be checked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::lane::ScenarioFault;
use crate::{
    AccountId, AssignedEpisode, AssignedPolicy, Comparison, EpisodeResult, Fingerprint, JobId, Preflight, ScenarioId,
    Sha256Digest,
};

/// `POST /tasks/claim`: asks for a task, and waits for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskClaimRequest {
    /// Maximum time to wait, in seconds; at most [`crate::MAX_CLAIM_WAIT_S`].
    pub wait_s: u32,
}

/// The answer to [`TaskClaimRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskClaimAnswer {
    /// The task, if there was one.
    pub task: Option<LeasedTask>,
    /// True if the worker is to finish what it runs, and to end.
    pub drain: bool,
}

/// A task with the right to read its inputs and to answer it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeasedTask {
    /// The right: opaque, bound to the worker, its registration and this claim.
    pub lease: String,
    /// The task.
    pub task: WorkerTask,
}

/// A task that a client waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum WorkerTask {
    /// Runs an episode again, and compares it with its recording.
    Replay {
        /// The job.
        job_id: JobId,
        /// Its account, whose models the policy uses.
        account: AccountId,
        /// The scenario.
        scenario: ScenarioId,
        /// SHA-256 over the files of the scenario and its robots.
        scenario_digest: Sha256Digest,
        /// The policy, an archive.
        policy: AssignedPolicy,
        /// The episode's seeds.
        seeds: AssignedEpisode,
        /// True if the job is an entry of the arena.
        is_arena: bool,
        /// The episode, with its recording among its evidence.
        result: Box<EpisodeResult>,
        /// Digest of the machine that it ran on, if a worker with the same one can replay it.
        machine: Option<Sha256Digest>,
        /// Labels that the job demands of its workers.
        #[serde(default)]
        labels: BTreeMap<String, String>,
        /// Memory that the scenario allows a policy, in MiB.
        #[serde(default)]
        memory_mib: u32,
    },
    /// Runs the first steps of a policy.
    Preflight {
        /// The account, whose models the policy uses.
        account: AccountId,
        /// The scenario.
        scenario: ScenarioId,
        /// SHA-256 over the files of the scenario and its robots.
        scenario_digest: Sha256Digest,
        /// The policy.
        policy: AssignedPolicy,
        /// Name of the policy, given by its author.
        policy_name: String,
        /// Memory that the scenario allows a policy, in MiB.
        #[serde(default)]
        memory_mib: u32,
    },
    /// Compiles, runs and renders a scenario that is to be published.
    Publication {
        /// Its author.
        account: AccountId,
        /// SHA-256 over its files and those of its robots.
        scenario_digest: Sha256Digest,
    },
}

impl WorkerTask {
    /// Returns the policy that it runs.
    #[must_use]
    pub fn policy(&self) -> Option<&AssignedPolicy> {
        match self {
            Self::Replay { policy, .. } | Self::Preflight { policy, .. } => Some(policy),
            Self::Publication { .. } => None,
        }
    }

    /// Returns the account of its owner.
    #[must_use]
    pub fn account(&self) -> &AccountId {
        match self {
            Self::Replay { account, .. } | Self::Preflight { account, .. } | Self::Publication { account, .. } => {
                account
            }
        }
    }

    /// Returns the digest of the runtime that its policy needs.
    #[must_use]
    pub fn runtime(&self) -> Option<Sha256Digest> {
        match self.policy() {
            Some(AssignedPolicy::Archive { runtime, .. }) => runtime.as_ref().map(|runtime| runtime.sha256),
            Some(AssignedPolicy::Server { .. }) | None => None,
        }
    }

    /// Returns the machine that it must run on.
    #[must_use]
    pub fn machine(&self) -> Option<Sha256Digest> {
        match self {
            Self::Replay { machine, .. } => *machine,
            Self::Preflight { .. } | Self::Publication { .. } => None,
        }
    }

    /// Returns the labels that its worker must have.
    #[must_use]
    pub fn labels(&self) -> Option<&BTreeMap<String, String>> {
        match self {
            Self::Replay { labels, .. } => Some(labels),
            Self::Preflight { .. } | Self::Publication { .. } => None,
        }
    }

    /// Returns the memory that its policy may use, in MiB.
    #[must_use]
    pub fn memory_mib(&self) -> u32 {
        match self {
            Self::Replay { memory_mib, .. } | Self::Preflight { memory_mib, .. } => *memory_mib,
            Self::Publication { .. } => 0,
        }
    }

    /// Returns true if `answer` is one to this task, and does not contradict itself.
    #[must_use]
    pub fn accepts(&self, answer: &TaskAnswer) -> bool {
        match (self, answer) {
            (_, TaskAnswer::Refused { .. } | TaskAnswer::Broken { .. }) => true,
            (Self::Replay { result, .. }, TaskAnswer::Replayed { trace_hash, comparison, .. }) => {
                comparison.difference.is_some() || *trace_hash == result.trace_hash
            }
            (Self::Preflight { scenario, .. }, TaskAnswer::Tried { preflight }) => preflight.scenario == *scenario,
            (
                Self::Publication { .. },
                TaskAnswer::Accepted { .. } | TaskAnswer::Rejected { .. } | TaskAnswer::Busy,
            ) => true,
            _ => false,
        }
    }

    /// Returns the digest of the scenario's version.
    #[must_use]
    pub fn scenario_digest(&self) -> Sha256Digest {
        match self {
            Self::Replay { scenario_digest, .. }
            | Self::Preflight { scenario_digest, .. }
            | Self::Publication { scenario_digest, .. } => *scenario_digest,
        }
    }
}

/// `POST /tasks/{lease}/answer`: the outcome of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum TaskAnswer {
    /// The episode was replayed.
    Replayed {
        /// Trace hash of the replay.
        trace_hash: Option<Sha256Digest>,
        /// The comparison of the two recordings.
        comparison: Comparison,
        /// The worker's machine.
        machine: Box<Fingerprint>,
    },
    /// The policy was tried.
    Tried {
        /// The findings.
        preflight: Box<Preflight>,
    },
    /// The scenario can be published.
    Accepted {
        /// Its picture, a PNG in hexadecimal; `None` if the worker does not render.
        picture: Option<String>,
    },
    /// The scenario has a fault.
    Rejected {
        /// The fault.
        fault: ScenarioFault,
    },
    /// The scenario could not be checked in time.
    Busy,
    /// The task cannot be done, for a reason that its client may read.
    Refused {
        /// The reason.
        message: String,
    },
    /// The worker failed, for a reason in its log and the server's.
    Broken {
        /// The reason, for the operator.
        message: String,
    },
}
