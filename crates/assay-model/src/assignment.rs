//! A shard handed to a worker, with everything that it must know to run it, and nothing else: no secret of a season, no
//! seed of another episode, no credential.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    AccountId, AssignedEpisode, AttemptNote, DeclaredModel, JobId, JobKind, Plan, Record, RuntimeVersion, ScenarioId,
    SeedSource, Sha256Digest,
};

/// The right to write a shard's results: void as soon as another worker claims the shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Fence {
    /// The job.
    pub job_id: JobId,
    /// Index of the shard in the job, from 0.
    pub shard: u32,
    /// Number of this claim of the shard, from 1.
    pub attempt: u32,
}

/// A shard to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Assignment {
    /// Must be presented with every result.
    pub fence: Fence,
    /// The job's account.
    pub account: AccountId,
    /// The scenario.
    pub scenario: ScenarioId,
    /// Version of the scenario.
    pub scenario_version: String,
    /// SHA-256 over the files of the scenario and its robots.
    pub scenario_digest: Sha256Digest,
    /// The policy.
    pub policy: AssignedPolicy,
    /// Selection of the episodes that get a log and a video.
    pub record: Record,
    /// Number of episodes, and the target to certify.
    pub plan: Plan,
    /// Kind of the job.
    pub kind: JobKind,
    /// Time at which the job was accepted.
    pub created_at: Timestamp,
    /// Episodes still to run, ascending; never empty.
    pub episodes: Vec<AssignedEpisode>,
    /// Number of failures of this shard since its last new episode.
    pub failures: u32,
    /// Notes of earlier attempts at these episodes.
    pub notes: Vec<AttemptNote>,
    /// Maximum size of an episode's evidence, in bytes.
    pub max_episode_bytes: u64,
}

/// The policy of a shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum AssignedPolicy {
    /// An archive.
    Archive {
        /// SHA-256 of the archive.
        sha256: Sha256Digest,
        /// The runtime that was chosen for it; `None` in jobs of earlier versions.
        runtime: Option<RuntimeVersion>,
        /// Models of its account that it declares; those in the archive are not listed.
        models: Vec<DeclaredModel>,
    },
    /// A server.
    Server {
        /// Number of actions of an answer that are executed before the next request; `None` for all of them.
        replan_steps: Option<u32>,
    },
}

impl Assignment {
    /// Returns true if it runs in the secret worlds of a season.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.kind == JobKind::Submission && self.episodes.iter().any(|episode| !episode.is_showcase)
    }

    /// Returns the indices of the episodes.
    pub fn indices(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.episodes.iter().map(|episode| episode.episode)
    }

    /// Returns the source of the episodes' seeds.
    #[must_use]
    pub fn seeds(&self) -> SeedSource {
        let episodes = self.episodes.iter().map(|assigned| (assigned.episode, *assigned)).collect();
        SeedSource::Assigned { episodes, is_arena: self.kind != JobKind::Verify }
    }
}
