//! The HTML report: one self-contained page without scripts and without references outside its folder, for light and
//! dark mode and for printing.
//!
//! The template engine escapes all texts; those from a policy or scenario are sanitised first. The page's content
//! security policy forbids all scripts. Charts are inline SVG, with coordinates computed by this module.

mod assets;
mod charts;
mod display;
mod episode;
mod gaps;
mod page;
mod plot;

use askama::Template;
use assay_model::{ClauseStatus, EpisodeStatus, JobReport};

pub use assets::{Addresses, Assets};

/// Maximum number of episodes with plots.
const MAX_DRAWN: usize = 12;

/// Returns the episodes that a page draws: incomplete ones and those with violations first, then the others in order.
#[must_use]
pub fn drawn(report: &JobReport) -> Vec<u32> {
    let wrong = |episode: &&assay_model::EpisodeResult| {
        let violated = episode.clauses.iter().any(|clause| clause.status == ClauseStatus::Violated);
        violated || episode.status != EpisodeStatus::Completed
    };
    let (bad, good): (Vec<_>, Vec<_>) = report.episode_details.iter().partition(wrong);
    bad.into_iter().chain(good).take(MAX_DRAWN).map(|episode| episode.episode).collect()
}

/// Error for a page that could not be rendered.
#[derive(Debug, thiserror::Error)]
#[error("the HTML report could not be written")]
pub struct HtmlError(#[source] askama::Error);

/// Renders the page. Without [`Assets::addresses`] it links videos and logs by their paths and must be stored next to
/// `report.json`. It contains only relative and `http(s)` links.
///
/// # Errors
/// [`HtmlError`] if the template engine fails.
pub fn render(report: &JobReport, assets: Assets<'_>) -> Result<String, HtmlError> {
    page::ReportPage::new(report, assets).render().map_err(HtmlError)
}
