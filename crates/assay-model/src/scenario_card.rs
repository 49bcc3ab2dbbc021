//! The description of a scenario for clients, whoever wrote it and wherever it is stored.

use serde::{Deserialize, Serialize};

use crate::{ScenarioId, Sha256Digest};

/// A scenario's facts for listing and for checking requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioCard {
    /// Its id.
    pub id: ScenarioId,
    /// Its name for people.
    pub name: String,
    /// One or two sentences.
    pub description: String,
    /// 1 (easy) to 5 (hard).
    pub difficulty: u8,
    /// Whole simulated seconds an episode may take.
    pub time_limit: u32,
    /// Score of a perfect submission.
    pub max_score: u32,
    /// The author's text, Markdown.
    pub long_description: String,
    /// The scenario's version.
    pub version: String,
    /// SHA-256 over the scenario's files.
    pub digest: Sha256Digest,
    /// The violation probability that its statistics refer to unless a request names another, in (0, 1).
    pub max_violation_probability: f64,
    /// Episodes of a submission to the arena.
    #[serde(default)]
    pub arena_episodes: u32,
    /// Mean progress of a policy that does nothing, in [0, 1): who does not exceed it is not ranked.
    #[serde(default)]
    pub idle_progress: f64,
    /// Actions of a policy server's answer that are carried out before it is asked again, unless a request says
    /// otherwise; `null` for all of them.
    #[serde(default)]
    pub replan_steps: Option<u32>,
    /// Largest archive of a policy in MiB; `null` where the scenario sets no limit beside the service's own.
    #[serde(default)]
    pub archive_mib: Option<u32>,
}
