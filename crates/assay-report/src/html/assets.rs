//! The material of a page besides the report.

use assay_model::{EpisodePlots, ScenarioCard};

/// Assets of a page besides the report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Assets<'a> {
    /// The scenario, for its name and description.
    pub scenario: Option<&'a ScenarioCard>,
    /// Plots of the episodes that [`super::drawn`] names.
    pub plots: &'a [(u32, EpisodePlots)],
    /// The program that wrote the page, such as `assay 0.1.0`.
    pub generator: &'a str,
}
