//! What is kept, as clients see it.

use assay_model::{EpisodeResult, JobReport, ScenarioCard, ScenarioId};
use assay_store::JobRecord;
use serde::Serialize;

/// The job object. Evidence has no address yet, so the paths that results hold are not shown.
pub(super) fn job(record: &JobRecord, episodes: &[EpisodeResult]) -> JobReport {
    let mut report = record.report(episodes);
    report.video_url = None;
    for episode in &mut report.episode_details {
        episode.video_url = None;
        episode.log_url = None;
    }
    report
}

/// A scenario in a list.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Scenario)]
pub(super) struct Summary {
    id: ScenarioId,
    name: String,
    description: String,
    /// From easy to hard.
    #[schema(minimum = 1, maximum = 5)]
    difficulty: u8,
    /// Whole simulated seconds an episode may take.
    time_limit: u32,
    /// What a perfect submission scores.
    max_score: u32,
    version: String,
    /// SHA-256 over the scenario's files, hexadecimal.
    digest: String,
}

/// A scenario with its author's text.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = ScenarioDetail)]
pub(super) struct Detail {
    #[serde(flatten)]
    summary: Summary,
    /// Markdown.
    long_description: String,
}

pub(super) fn summary(card: &ScenarioCard) -> Summary {
    Summary {
        id: card.id.clone(),
        name: card.name.clone(),
        description: card.description.clone(),
        difficulty: card.difficulty,
        time_limit: card.time_limit,
        max_score: card.max_score,
        version: card.version.clone(),
        digest: card.digest.clone(),
    }
}

pub(super) fn detail(card: &ScenarioCard) -> Detail {
    Detail { summary: summary(card), long_description: card.long_description.clone() }
}
