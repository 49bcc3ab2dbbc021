//! The HTML report: one self-contained page without scripts and without references outside its folder, for light and
//! dark mode and for printing.
//!
//! Pages of the service about a job and its episodes are made from the same parts: [`verdict`] and [`episode`] return
//! them as fragments.
//!
//! The template engine escapes all texts; those from a policy or scenario are sanitised first. The page's content
//! security policy forbids all scripts. Charts are inline SVG, with coordinates computed by this module.

mod assets;
mod charts;
mod display;
mod episode;
mod gaps;
mod gravest;
mod grid;
mod latency;
mod link;
mod margins;
mod markdown;
mod page;
mod plot;
mod still;

use askama::Template;
use assay_model::{ClauseStatus, EpisodeResult, EpisodeStatus, JobReport};

pub use assets::{Addresses, Assets};
pub use markdown::markdown;

/// The stylesheet of the fragments that [`verdict`] and [`episode`] return: design tokens, then the parts.
pub const PARTS_STYLE: &str =
    concat!(include_str!("../../templates/tokens.css"), include_str!("../../templates/parts.css"));

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

/// Renders the verdict of a job as a fragment of a page: `episode_link`, followed by an episode's index, is the address
/// of its page. [`Assets::plots`] is not used. All texts are escaped; no inline style or script is used.
///
/// # Errors
/// [`HtmlError`] if the template engine fails.
pub fn verdict(report: &JobReport, assets: Assets<'_>, episode_link: &str) -> Result<String, HtmlError> {
    page::VerdictFragment::new(report, assets, episode_link).render().map_err(HtmlError)
}

/// Returns the sentences that lead the page of a verdict: the gravest violation or another reason for the outcome, then
/// whether the task was done. They are not escaped.
#[must_use]
pub fn lead(report: &JobReport) -> String {
    let lead = gravest::lead(report, gravest::Gravest::of(report).as_ref());
    gravest::achieved(report).map_or_else(|| lead.clone(), |achieved| format!("{lead} {achieved}"))
}

/// Renders the margins and episodes so far of a job without a verdict as a fragment of a page; see [`verdict`].
///
/// # Errors
/// [`HtmlError`] if the template engine fails.
pub fn progress(report: &JobReport, episode_link: &str) -> Result<String, HtmlError> {
    page::ProgressFragment::new(report, episode_link).render().map_err(HtmlError)
}

/// Renders an episode as a fragment of a page, with one player beside all plots. All texts are escaped; no inline style
/// or script is used.
///
/// # Errors
/// [`HtmlError`] if the template engine fails.
pub fn episode(episode: &EpisodeResult, assets: Assets<'_>) -> Result<String, HtmlError> {
    page::EpisodeFragment::new(episode, assets).render().map_err(HtmlError)
}
