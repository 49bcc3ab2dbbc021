//! Inputs of reports and of pages about jobs: the scenario's card, and the plots of episodes.

use std::sync::Arc;

use assay_model::lane::files;
use assay_model::{EpisodePlots, JobReport, ScenarioCard};
use assay_store::StoreError;
use axum::body::Body;

use crate::state::App;

/// Maximum number of episodes in a report, which is the maximum of a job.
pub(crate) const MAX_EPISODES: u32 = 10_000;
/// Maximum size of an episode's plots file that is read, in bytes.
const MAX_PLOTS: u64 = 16 << 20;

/// Returns the card of the job's scenario, even if the scenario was deleted.
pub(crate) async fn card_of(app: &App, report: &JobReport) -> Result<Option<Arc<ScenarioCard>>, StoreError> {
    if let Some(card) = app.catalog.get(&report.scenario) {
        return Ok(Some(card));
    }
    Ok(app.records.community_scenario(&report.scenario).await?.map(|scenario| Arc::new(scenario.card)))
}

/// Returns the plots of an episode; `None` if they were erased or are invalid.
pub(crate) async fn plots_of(app: &App, report: &JobReport, episode: u32) -> Option<EpisodePlots> {
    let result = report.episode_details.iter().find(|result| result.episode == episode)?;
    let file = result.evidence.iter().find(|file| file.name.ends_with(files::PLOTS))?;
    let size = app.blobs.size(report.job_id, file.sha256).await.ok().filter(|size| (1..=MAX_PLOTS).contains(size))?;
    let pieces = app.blobs.read(report.job_id, file.sha256, 0..size).await.ok()?;
    let bytes = axum::body::to_bytes(Body::from_stream(pieces), usize::MAX).await.ok()?;
    serde_json::from_slice(&bytes).ok()
}
