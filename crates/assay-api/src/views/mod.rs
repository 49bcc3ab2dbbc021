//! API representations of domain types. A view is built once from a record and the domain's results, which contain
//! paths inside the evidence folder, but no URLs.

mod episode;
mod evidence_file;
mod evidence_urls;
mod job;
mod scenario;
#[cfg(test)]
mod tests;

pub(crate) use self::episode::{EpisodeView, add_renderings};
pub(crate) use self::evidence_urls::EvidenceUrls;
pub(crate) use self::job::{JobView, MAX_EPISODES_SHOWN};
pub(crate) use self::scenario::{ScenarioDetail, ScenarioSummary};
