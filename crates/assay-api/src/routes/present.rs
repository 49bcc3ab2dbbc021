//! What is kept, as clients see it.

use assay_model::{EpisodeResult, JobReport, ScenarioCard};
use assay_store::JobRecord;
use serde_json::{Value, json};

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

pub(super) fn scenario(card: &ScenarioCard, long: bool) -> Value {
    let mut shown = json!({
        "id": card.id,
        "name": card.name,
        "description": card.description,
        "difficulty": card.difficulty,
        "time_limit": card.time_limit,
        "max_score": card.max_score,
        "version": card.version,
        "digest": card.digest,
    });
    if long {
        shown["long_description"] = json!(card.long_description);
    }
    shown
}
