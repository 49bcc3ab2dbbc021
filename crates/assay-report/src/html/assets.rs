//! The material of a page besides the report.

use std::collections::BTreeMap;

use assay_model::{EpisodePlots, ScenarioCard};

/// Addresses of files by their paths inside the evidence folder, for a page that lies elsewhere. A file without one is
/// not linked.
pub type Addresses<'a> = Option<&'a BTreeMap<String, String>>;

/// Assets of a page besides the report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Assets<'a> {
    /// The scenario, for its name and description.
    pub scenario: Option<&'a ScenarioCard>,
    /// Plots of the episodes that [`super::drawn`] names.
    pub plots: &'a [(u32, EpisodePlots)],
    /// Addresses of videos and logs; `None` if the page will lie in the evidence folder.
    pub addresses: Addresses<'a>,
    /// The program that wrote the page, such as `assay 0.1.0`.
    pub generator: &'a str,
}
