//! Views: what clients see of the domain. A view is built once from a record and the results of the domain, which know
//! paths inside the evidence folder, but no addresses.

mod episode;
mod evidence_file;
mod evidence_urls;
mod job;
mod scenario;
#[cfg(test)]
mod tests;

pub(crate) use self::episode::{EpisodeView, add_renderings};
pub(crate) use self::evidence_urls::EvidenceUrls;
pub(crate) use self::job::JobView;
pub(crate) use self::scenario::{ScenarioDetail, ScenarioSummary};
