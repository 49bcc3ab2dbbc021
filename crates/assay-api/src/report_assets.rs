//! The page of a report, and its inputs: the scenario's card, and the plots of episodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_model::lane::files;
use assay_model::{EpisodePlots, JobReport, ScenarioCard};
use assay_report::html;
use assay_store::StoreError;
use axum::body::Body;

use crate::http::ApiError;
use crate::state::App;

/// Maximum number of episodes in a report, which is the maximum of a job.
pub(crate) const MAX_EPISODES: u32 = 10_000;
/// Maximum size of an episode's plots file that is read, in bytes.
const MAX_PLOTS: u64 = 16 << 20;

/// Renders the page of a report, with these addresses of its files, or with their paths.
pub(crate) async fn report_page(
    app: &App,
    report: JobReport,
    addresses: Option<BTreeMap<String, String>>,
) -> Result<String, ApiError> {
    let card = card_of(app, &report).await?;
    let mut plots = Vec::new();
    for episode in html::drawn(&report) {
        plots.extend(plots_of(app, &report, episode).await.map(|plots| (episode, plots)));
    }
    // A report of many episodes takes a while.
    let rendering = tokio::task::spawn_blocking(move || {
        let (addresses, generator) = (addresses.as_ref(), concat!("assay ", env!("CARGO_PKG_VERSION")));
        html::render(&report, html::Assets { scenario: card.as_deref(), plots: &plots, addresses, generator })
    });
    let page = rendering.await.map_err(|e| ApiError::internal("rendering a report panicked", &e))?;
    page.map_err(|e| ApiError::internal("the report's page", &e))
}

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
