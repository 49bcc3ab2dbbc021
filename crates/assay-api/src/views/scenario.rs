//! API representation of curated scenarios.

use assay_model::{ScenarioCard, ScenarioId, Sha256Digest};
use serde::Serialize;

/// A scenario in a list.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Scenario")]
pub(crate) struct ScenarioSummary {
    id: ScenarioId,
    name: String,
    description: String,
    /// Difficulty, from 1 (easy) to 5 (hard).
    #[schemars(range(min = 1, max = 5))]
    difficulty: u8,
    /// Maximum duration of an episode, in whole simulated seconds.
    time_limit: u32,
    /// Score of a perfect submission.
    max_score: u32,
    version: String,
    /// SHA-256 over the scenario's files, hexadecimal.
    digest: Sha256Digest,
}

/// A scenario with its author's description.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct ScenarioDetail {
    #[serde(flatten)]
    summary: ScenarioSummary,
    /// Author's description in Markdown.
    long_description: String,
}

impl ScenarioSummary {
    pub(crate) fn new(card: &ScenarioCard) -> Self {
        Self {
            id: card.id.clone(),
            name: card.name.clone(),
            description: card.description.clone(),
            difficulty: card.difficulty,
            time_limit: card.time_limit,
            max_score: card.max_score,
            version: card.version.clone(),
            digest: card.digest,
        }
    }
}

impl ScenarioDetail {
    pub(crate) fn new(card: &ScenarioCard) -> Self {
        Self { summary: ScenarioSummary::new(card), long_description: card.long_description.clone() }
    }
}
