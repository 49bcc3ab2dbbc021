//! API representation of published scenarios.

use assay_model::{AccountId, DrawnRange, ONE_WORLD, ScenarioCard, Sha256Digest};
use assay_store::{CommunityScenario, CommunityVersion};
use jiff::Timestamp;
use serde::Serialize;

use crate::links;
use crate::state::App;
use crate::views::ScenarioSummary;

/// A published scenario in a list.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "CommunityScenario")]
pub(in crate::routes) struct CommunityScenarioView {
    #[serde(flatten)]
    summary: ScenarioSummary,
    /// Account that published the scenario.
    author: AccountId,
    /// Time at which this version was published.
    published_at: Timestamp,
    /// Number of verifications on this scenario so far, across all versions.
    evaluations: u64,
    tags: Vec<String>,
    /// URL of the scenario's picture, valid for ten minutes; `null` if none could be rendered.
    thumbnail_url: Option<String>,
}

/// A version of a published scenario.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "CommunityVersion")]
pub(in crate::routes) struct CommunityVersionView {
    version: String,
    /// SHA-256 over the version's files, hexadecimal.
    digest: Sha256Digest,
    published_at: Timestamp,
}

/// A published scenario with its author's description.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct CommunityScenarioDetail {
    #[serde(flatten)]
    entry: CommunityScenarioView,
    /// Author's description in Markdown, without HTML and images; links lead to web pages.
    long_description: String,
    /// Distributions from which it draws the worlds of its episodes, at most 256: those with more than one value that
    /// reach an episode. `null` for versions that earlier releases stored.
    drawn_ranges: Option<Vec<DrawnRange>>,
    /// Notes for its author, for example that it draws nothing.
    warnings: Vec<String>,
    /// All versions, newest first.
    versions: Vec<CommunityVersionView>,
}

pub(in crate::routes) fn entry(app: &App, scenario: &CommunityScenario) -> CommunityScenarioView {
    let digest = scenario.card.digest;
    let drawn = app.scenario_files.picture(digest).is_some();
    let address = || links::address(&app.settings, &app.signer.sign_thumbnail(digest, app.clock.now()));
    CommunityScenarioView {
        summary: ScenarioSummary::new(&scenario.card),
        author: scenario.account.clone(),
        published_at: scenario.published_at,
        evaluations: scenario.evaluations,
        tags: scenario.tags.clone(),
        thumbnail_url: drawn.then(address),
    }
}

pub(in crate::routes) fn detail(
    app: &App,
    scenario: &CommunityScenario,
    versions: Vec<CommunityVersion>,
) -> CommunityScenarioDetail {
    let version = |v: CommunityVersion| CommunityVersionView {
        version: v.version,
        digest: v.digest,
        published_at: v.published_at,
    };
    CommunityScenarioDetail {
        entry: entry(app, scenario),
        long_description: scenario.card.long_description.clone(),
        drawn_ranges: scenario.card.drawn_ranges.clone(),
        warnings: warnings(&scenario.card),
        versions: versions.into_iter().map(version).collect(),
    }
}

fn warnings(card: &ScenarioCard) -> Vec<String> {
    if card.draws_worlds() { Vec::new() } else { vec![ONE_WORLD.to_owned()] }
}
