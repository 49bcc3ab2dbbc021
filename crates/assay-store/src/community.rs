//! Scenarios that accounts publish.

use assay_model::{AccountId, ScenarioCard, ScenarioId};
use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;

/// A version of a scenario that passed its checks, and whose files are on the disk.
#[derive(Debug, Clone)]
pub struct NewVersion {
    /// Who publishes it.
    pub account: AccountId,
    /// What clients read; its id is `account.name`.
    pub card: ScenarioCard,
    /// For searching.
    pub tags: Vec<String>,
    /// When.
    pub published_at: Timestamp,
}

/// What became of a wish to publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishOutcome {
    /// It is one of the scenario's versions.
    Done,
    /// There is this version already; it stays what it is.
    VersionExists,
    /// The scenario was deleted; its name is not given again.
    Reserved,
    /// The account published so many in the last 24 hours already.
    TooMany {
        /// When there is room for another one; `None` where none may be published at all.
        frees_at: Option<Timestamp>,
    },
}

/// An account's scenarios that were looked at and could not be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishingFailures {
    /// Within 24 hours.
    pub count: u32,
    /// When the first of them does not count any more.
    pub frees_at: Option<Timestamp>,
}

/// A published scenario as its highest version has it: the highest semantic version, or where it has none, the version that
/// was published last.
#[derive(Debug, Clone, PartialEq)]
pub struct CommunityScenario {
    /// Whose it is.
    pub account: AccountId,
    /// What clients read.
    pub card: ScenarioCard,
    /// For searching.
    pub tags: Vec<String>,
    /// When this version was published.
    pub published_at: Timestamp,
    /// Jobs on it so far, of any version.
    pub evaluations: u64,
    /// Since when it is not offered any more.
    pub deleted_at: Option<Timestamp>,
}

/// A version that was published once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommunityVersion {
    /// Its name.
    pub version: String,
    /// What it is made of.
    pub digest: String,
    /// When it was published.
    pub published_at: Timestamp,
}

/// In which order scenarios are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommunitySort {
    /// The newest version first.
    #[default]
    Newest,
    /// The one with most evaluations first.
    Evaluations,
    /// By name, then id.
    Name,
}

/// Which scenarios to list. Deleted ones never are.
#[derive(Debug, Clone, Default)]
pub struct CommunityFilter {
    /// Each stands in id, name, description or tags; in lower case.
    pub words: Vec<String>,
    /// Only with this tag.
    pub tag: Option<String>,
    /// Only this account's.
    pub author: Option<String>,
    /// The order.
    pub sort: CommunitySort,
    /// Only what stands behind this one in the order [`CommunitySort::Newest`].
    pub before: Option<ScenarioId>,
    /// At most this many.
    pub limit: u32,
    /// Skip this many.
    pub offset: u32,
}

/// A version of a scenario that the installation had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledVersion {
    /// SHA-256 over the files of the scenario and its robots, hexadecimal.
    pub digest: String,
    /// Of which scenario.
    pub id: ScenarioId,
    /// Its version.
    pub version: String,
    /// Since when its files are kept.
    pub kept_at: Timestamp,
}

/// The scenarios of the community, and all versions whose files are kept.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait CommunityRecords {
    /// Publishes a version, unless the account published `max_a_day` within the 24 hours before it.
    async fn publish_scenario(&self, new: NewVersion, max_a_day: u32) -> Result<PublishOutcome, StoreError>;

    /// Why [`CommunityRecords::publish_scenario`] would refuse this; [`PublishOutcome::Done`] if it would not.
    async fn check_publishable(
        &self,
        id: &ScenarioId,
        version: &str,
        now: Timestamp,
        max_a_day: u32,
    ) -> Result<PublishOutcome, StoreError>;

    /// Notes that a scenario of the account was looked at and could not be published.
    async fn note_publishing_failure(&self, account: &AccountId, now: Timestamp) -> Result<(), StoreError>;

    /// How often that was within the 24 hours before `now`.
    async fn publishing_failures(&self, account: &AccountId, now: Timestamp) -> Result<PublishingFailures, StoreError>;

    /// A scenario, deleted ones too.
    async fn community_scenario(&self, id: &ScenarioId) -> Result<Option<CommunityScenario>, StoreError>;

    /// Its versions, newest first.
    async fn community_versions(&self, id: &ScenarioId) -> Result<Vec<CommunityVersion>, StoreError>;

    /// A page of scenarios and the number of all that match (`before`, `limit` and `offset` apart).
    async fn community_scenarios(&self, filter: &CommunityFilter) -> Result<(Vec<CommunityScenario>, u64), StoreError>;

    /// Takes a scenario (of `account`) off the list for good; false if there is none. Doing it again is harmless.
    async fn delete_scenario(
        &self,
        account: Option<&AccountId>,
        id: &ScenarioId,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Notes that the files of an installed version are kept. Doing it again is harmless.
    async fn record_installed_version(&self, version: &InstalledVersion) -> Result<(), StoreError>;

    /// The digests of all versions that were ever published or noted as kept: their files stay.
    async fn scenario_digests(&self) -> Result<Vec<String>, StoreError>;
}
