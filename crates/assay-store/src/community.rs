//! Scenarios published by accounts, and the scenario versions whose files are kept.

use assay_model::{AccountId, ScenarioCard, ScenarioId, Sha256Digest};
use async_trait::async_trait;
use jiff::Timestamp;
use semver::Version;

use crate::StoreError;

/// A version of a scenario that passed its checks and whose files are on the disk.
#[derive(Debug, Clone)]
pub struct NewVersion {
    /// The publishing account.
    pub account: AccountId,
    /// Its description for clients; its id is `account.name`.
    pub card: ScenarioCard,
    /// Search tags.
    pub tags: Vec<String>,
    /// Time of publication.
    pub published_at: Timestamp,
}

/// Result of publishing a scenario version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishOutcome {
    /// It is one of the scenario's versions.
    Done,
    /// This version exists already, and is immutable.
    VersionExists,
    /// The scenario was deleted; its name is not reused.
    Reserved,
    /// The account has reached its limit for 24 hours.
    TooMany {
        /// Time from which one more may be published; `None` if the limit is 0.
        frees_at: Option<Timestamp>,
    },
}

/// An account's failed attempts to publish a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishingFailures {
    /// Number within 24 hours.
    pub count: u32,
    /// Time at which the first of them stops counting.
    pub frees_at: Option<Timestamp>,
}

/// A published scenario as described by its highest version: the highest semantic version or, if it has none, the
/// version published last.
#[derive(Debug, Clone, PartialEq)]
pub struct CommunityScenario {
    /// Its account.
    pub account: AccountId,
    /// Its description for clients.
    pub card: ScenarioCard,
    /// Search tags.
    pub tags: Vec<String>,
    /// Time at which this version was published.
    pub published_at: Timestamp,
    /// Number of jobs on it so far, of any version.
    pub evaluations: u64,
    /// Time of its deletion.
    pub deleted_at: Option<Timestamp>,
}

/// Returns the sort key of a version: semantic versions by precedence and, below them, all others by time of
/// publication.
pub(crate) fn version_rank(version: &str, published_at: i64) -> (Option<Version>, i64) {
    (Version::parse(version).ok(), published_at)
}

/// A published version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommunityVersion {
    /// Its name.
    pub version: String,
    /// SHA-256 over its files.
    pub digest: Sha256Digest,
    /// Time of publication.
    pub published_at: Timestamp,
}

/// Order of a list of scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommunitySort {
    /// Newest version first.
    #[default]
    Newest,
    /// Most evaluations first.
    Evaluations,
    /// By name, then id.
    Name,
}

/// Filter of a list of scenarios. Deleted ones are never listed.
#[derive(Debug, Clone, Default)]
pub struct CommunityFilter {
    /// Words that all occur in id, name, description or tags; in lower case.
    pub words: Vec<String>,
    /// Only with this tag.
    pub tag: Option<String>,
    /// Only this account's.
    pub author: Option<String>,
    /// The order.
    pub sort: CommunitySort,
    /// Only scenarios after this one in the order [`CommunitySort::Newest`].
    pub before: Option<ScenarioId>,
    /// Maximum number of scenarios.
    pub limit: u32,
    /// Number of scenarios to skip.
    pub offset: u32,
}

/// A scenario version that was installed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledVersion {
    /// SHA-256 over the files of the scenario and its robots.
    pub digest: Sha256Digest,
    /// Its scenario.
    pub id: ScenarioId,
    /// Its version.
    pub version: String,
    /// Time since which its files are kept.
    pub kept_at: Timestamp,
}

/// Repository of published scenarios and of all versions whose files are kept.
///
/// # Errors
/// As [`crate::Records`].
#[async_trait]
pub trait CommunityRecords {
    /// Publishes a version, unless the account published `max_a_day` versions within the preceding 24 hours.
    async fn publish_scenario(&self, new: NewVersion, max_a_day: u32) -> Result<PublishOutcome, StoreError>;

    /// Returns the outcome that [`Self::publish_scenario`] would have.
    async fn check_publishable(
        &self,
        id: &ScenarioId,
        version: &str,
        now: Timestamp,
        max_a_day: u32,
    ) -> Result<PublishOutcome, StoreError>;

    /// Records a failed attempt of the account to publish a scenario.
    async fn note_publishing_failure(&self, account: &AccountId, now: Timestamp) -> Result<(), StoreError>;

    /// Counts the failed attempts within the 24 hours before `now`.
    async fn publishing_failures(&self, account: &AccountId, now: Timestamp) -> Result<PublishingFailures, StoreError>;

    /// Returns a scenario, deleted or not.
    async fn community_scenario(&self, id: &ScenarioId) -> Result<Option<CommunityScenario>, StoreError>;

    /// Lists a scenario's versions, newest first.
    async fn community_versions(&self, id: &ScenarioId) -> Result<Vec<CommunityVersion>, StoreError>;

    /// Lists a page of scenarios. The number is that of all matching scenarios, regardless of `before`, `limit` and
    /// `offset`.
    async fn community_scenarios(&self, filter: &CommunityFilter) -> Result<(Vec<CommunityScenario>, u64), StoreError>;

    /// Deletes a scenario (of `account`) for good. Returns false if there is none. Idempotent.
    async fn delete_scenario(
        &self,
        account: Option<&AccountId>,
        id: &ScenarioId,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Records that the files of an installed version are kept. Idempotent.
    async fn record_installed_version(&self, version: &InstalledVersion) -> Result<(), StoreError>;

    /// Lists the digests of all versions ever published or recorded as installed; their files are kept.
    async fn scenario_digests(&self) -> Result<Vec<Sha256Digest>, StoreError>;
}
