//! One self-contained page: no script, no address outside the folder it lies in, light and dark, fit to print.
//!
//! The template engine escapes every text; what a policy or scenario wrote is cleaned before. A content security policy
//! in the page forbids scripts altogether. Charts are SVG in the page, their coordinates computed here.

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

/// Most episodes with plots.
const MAX_DRAWN: usize = 12;

/// The episodes that a page draws: those with something wrong first, then the first ones.
#[must_use]
pub fn drawn(report: &JobReport) -> Vec<u32> {
    let wrong = |episode: &&assay_model::EpisodeResult| {
        let violated = episode.clauses.iter().any(|clause| clause.status == ClauseStatus::Violated);
        violated || episode.status != EpisodeStatus::Completed
    };
    let (bad, good): (Vec<_>, Vec<_>) = report.episode_details.iter().partition(wrong);
    bad.into_iter().chain(good).take(MAX_DRAWN).map(|episode| episode.episode).collect()
}

/// A page that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the HTML report could not be written")]
pub struct HtmlError(#[source] askama::Error);

/// Renders the page. Without [`Assets::addresses`] it links videos and logs by their paths, and must lie beside
/// `report.json`. Only relative links and `http(s)` are written.
///
/// # Errors
/// [`HtmlError`] when the template engine fails.
pub fn render(report: &JobReport, assets: Assets<'_>) -> Result<String, HtmlError> {
    page::ReportPage::new(report, assets).render().map_err(HtmlError)
}
