//! Input of a page besides the report.

use std::collections::BTreeMap;

use assay_model::{EpisodePlots, ScenarioCard};

/// URLs of files by their paths inside the evidence folder, for a page stored elsewhere. Files without a URL are not
/// linked.
pub type Addresses<'a> = Option<&'a BTreeMap<String, String>>;

/// Input of a page besides the report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Assets<'a> {
    /// Card of the scenario, for its name and description.
    pub scenario: Option<&'a ScenarioCard>,
    /// Plots of the episodes returned by [`super::drawn`].
    pub plots: &'a [(u32, EpisodePlots)],
    /// URLs of videos and logs; `None` if the page will be stored in the evidence folder.
    pub addresses: Addresses<'a>,
    /// Name and version of the program that writes the page, such as `assay 0.1.0`.
    pub generator: &'a str,
}
