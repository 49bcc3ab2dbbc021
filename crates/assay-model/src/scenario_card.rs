//! Description of a scenario for clients, independent of its author and location.

use serde::{Deserialize, Serialize};

use crate::{DrawnRange, ScenarioId, Sha256Digest};

/// Warning about a scenario that draws nothing.
pub const ONE_WORLD: &str = "draws nothing, so all its worlds are the same: n episodes are one observation, and no \
     certification is accepted; give a parameter that reaches the world a range of values";

/// Properties of a scenario, for listing it and for checking requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioCard {
    /// Id of the scenario.
    pub id: ScenarioId,
    /// Display name.
    pub name: String,
    /// Description in one or two sentences.
    pub description: String,
    /// Difficulty, from 1 (easy) to 5 (hard).
    pub difficulty: u8,
    /// Time limit of an episode, in whole simulated seconds.
    pub time_limit: u32,
    /// Score of a perfect submission.
    pub max_score: u32,
    /// Detailed description by the author, in Markdown.
    pub long_description: String,
    /// Version of the scenario.
    pub version: String,
    /// SHA-256 over the files of the scenario and its robots.
    pub digest: Sha256Digest,
    /// Violation probability in (0, 1) that the statistics refer to unless a request contains another.
    pub max_violation_probability: f64,
    /// Number of episodes of a submission to the arena.
    #[serde(default)]
    pub arena_episodes: u32,
    /// Mean progress of a policy that does nothing, in [0, 1); a submission that does not exceed it is not ranked.
    #[serde(default)]
    pub idle_progress: f64,
    /// Number of actions of a policy server's answer that are executed before the next request, unless the request for
    /// the job contains another; `null` for all of them.
    #[serde(default)]
    pub replan_steps: Option<u32>,
    /// Maximum size of a policy archive, in MiB; `null` if the scenario sets no limit besides that of the service.
    #[serde(default)]
    pub archive_mib: Option<u32>,
    /// Version of the render profile of the policy's images; `null` without images.
    #[serde(default)]
    pub render_profile: Option<u32>,
    /// Distributions from which it draws the worlds of its episodes; empty if it draws nothing, `None` in cards that
    /// earlier versions stored.
    #[serde(default)]
    pub drawn_ranges: Option<Vec<DrawnRange>>,
}

impl ScenarioCard {
    /// Returns false if the scenario draws nothing, so that all its episodes are one observation.
    #[must_use]
    pub fn draws_worlds(&self) -> bool {
        self.drawn_ranges.as_ref().is_none_or(|ranges| !ranges.is_empty())
    }
}
