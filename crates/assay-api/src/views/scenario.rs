//! API representation of curated scenarios.

use assay_model::{DrawnRange, ScenarioCard, ScenarioId, Sha256Digest};
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
    /// False if the scenario draws nothing: all its episodes are then one observation of one world, and no
    /// certification is accepted.
    draws_worlds: bool,
}

/// A scenario with its author's description.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct ScenarioDetail {
    #[serde(flatten)]
    summary: ScenarioSummary,
    /// Author's description in Markdown.
    long_description: String,
    /// Distributions from which it draws the worlds of its episodes, at most 256: those with more than one value that
    /// reach an episode. `null` for versions that earlier releases stored.
    drawn_ranges: Option<Vec<DrawnRange>>,
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
            draws_worlds: card.draws_worlds(),
        }
    }
}

impl ScenarioDetail {
    pub(crate) fn new(card: &ScenarioCard) -> Self {
        Self {
            summary: ScenarioSummary::new(card),
            long_description: card.long_description.clone(),
            drawn_ranges: card.drawn_ranges.clone(),
        }
    }
}
