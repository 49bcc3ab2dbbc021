//! Published scenarios, as clients see them.

use assay_model::AccountId;
use assay_store::{CommunityScenario, CommunityVersion};
use jiff::Timestamp;
use serde::Serialize;

use super::present::{self, Summary};
use crate::state::App;

/// A published scenario in a list.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = CommunityScenario)]
pub(super) struct Entry {
    #[serde(flatten)]
    summary: Summary,
    /// The account that published it.
    author: AccountId,
    /// When this version was published.
    published_at: Timestamp,
    /// Verifications on it so far, of any version.
    evaluations: u64,
    tags: Vec<String>,
    /// Address of its picture, good for ten minutes; null where none could be drawn.
    thumbnail_url: Option<String>,
}

/// A version.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = CommunityVersion)]
pub(super) struct Version {
    version: String,
    /// SHA-256 over the version's files, hexadecimal.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    digest: String,
    published_at: Timestamp,
}

/// A published scenario with its author's text.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = CommunityScenarioDetail)]
pub(super) struct Detail {
    #[serde(flatten)]
    entry: Entry,
    /// Markdown without HTML and images; links lead to web pages.
    long_description: String,
    /// All of them, newest first.
    versions: Vec<Version>,
}

pub(super) fn entry(app: &App, scenario: &CommunityScenario) -> Entry {
    let digest = &scenario.card.digest;
    let drawn = app.scenario_files.picture(digest).is_some();
    let address = || app.settings.address(&app.signer.sign_thumbnail(digest, app.clock.now()));
    Entry {
        summary: present::summary(&scenario.card),
        author: scenario.account.clone(),
        published_at: scenario.published_at,
        evaluations: scenario.evaluations,
        tags: scenario.tags.clone(),
        thumbnail_url: drawn.then(address),
    }
}

pub(super) fn detail(app: &App, scenario: &CommunityScenario, versions: Vec<CommunityVersion>) -> Detail {
    let version = |v: CommunityVersion| Version { version: v.version, digest: v.digest, published_at: v.published_at };
    Detail {
        entry: entry(app, scenario),
        long_description: scenario.card.long_description.clone(),
        versions: versions.into_iter().map(version).collect(),
    }
}
