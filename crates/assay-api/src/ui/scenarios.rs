//! `/ui/scenarios`: the built-in scenarios with filters, and those that accounts have published.

use std::collections::BTreeSet;

use askama::Template;
use assay_model::{ScenarioCard, Scope, sanitise};
use assay_store::{CommunityFilter, CommunityScenario};
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::page::{PageFrame, failure, page, to_sign_in};
use super::units::count;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::links;
use crate::state::App;

/// Maximum number of published scenarios on the page.
const PUBLISHED: u32 = 24;
/// Maximum number of search words.
const MAX_WORDS: usize = 8;
/// Value of the filter for scenarios without a robot of the library.
const NO_ROBOT: &str = "none";
const MAX_DIFFICULTY: u8 = 5;

#[derive(Template)]
#[template(path = "ui/scenarios.html")]
struct ScenariosPage {
    frame: PageFrame,
    collections: Vec<(String, String)>,
    /// Ids of the robots of the built-in scenarios.
    robots: Vec<String>,
    wanted: WantedScenarios,
    tiles: Vec<ScenarioTile>,
    published: Vec<ScenarioTile>,
    published_total: u64,
}

/// The filters, as they were sent.
#[derive(Default)]
struct WantedScenarios {
    collection: String,
    robot: String,
    difficulty: String,
    cameras: String,
    words: String,
}

/// A scenario in the gallery.
pub(super) struct ScenarioTile {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) difficulty: u8,
    pub(super) time_limit: u32,
    /// Ids of its robots.
    pub(super) robots: Vec<String>,
    pub(super) cameras: usize,
    pub(super) clauses: usize,
    /// Address of its picture.
    pub(super) picture: Option<String>,
    /// Account, number of verifications and tags of a published scenario.
    pub(super) published: Option<(String, String, String)>,
}

impl ScenarioTile {
    /// Describes a published scenario.
    pub(super) fn published(app: &App, scenario: &CommunityScenario) -> Self {
        let tags = sanitise(&scenario.tags.join(", "), usize::MAX);
        let author = scenario.account.to_string();
        let published = Some((author, count(scenario.evaluations, "verification"), tags));
        Self { published, ..Self::new(app, &scenario.card) }
    }

    pub(super) fn new(app: &App, card: &ScenarioCard) -> Self {
        let spec = app.catalog.spec(&card.id);
        let picture = app.scenario_files.picture(card.digest).is_some();
        Self {
            id: card.id.to_string(),
            name: sanitise(&card.name, usize::MAX),
            description: sanitise(&card.description, usize::MAX),
            difficulty: card.difficulty,
            time_limit: card.time_limit,
            robots: spec.as_ref().map(|spec| spec.robots.clone()).unwrap_or_default(),
            cameras: spec.as_ref().map_or(0, |spec| spec.cameras.len()),
            clauses: spec.as_ref().map_or(0, |spec| spec.clauses.len()),
            picture: picture
                .then(|| links::address(&app.settings, &app.signer.sign_thumbnail(card.digest, app.clock.now()))),
            published: None,
        }
    }
}

/// Shows the gallery, or redirects a visitor who is not signed in to the form for signing in.
pub(crate) async fn handle(
    State(app): State<App>,
    MaybeViewer(viewer): MaybeViewer,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let wanted = WantedScenarios::parse(query.as_deref().unwrap_or_default());
    show(&app, &viewer, wanted).await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

async fn show(app: &App, viewer: &Viewer, wanted: WantedScenarios) -> Result<Response, ApiError> {
    viewer.require(Scope::Read)?;
    let cards = app.catalog.list();
    let specs = cards.iter().filter_map(|card| app.catalog.spec(&card.id));
    let robots: BTreeSet<String> = specs.flat_map(|spec| spec.robots.clone()).collect();
    let tiles = cards.iter().filter(|card| wanted.is_in_collection(app, card)).map(|card| ScenarioTile::new(app, card));
    let tiles = tiles.filter(|tile| wanted.matches(tile)).collect();
    let words = wanted.words.split_whitespace().map(str::to_lowercase).take(MAX_WORDS).collect();
    let filter = CommunityFilter { words, limit: PUBLISHED, ..CommunityFilter::default() };
    let (published, published_total) = app.records.community_scenarios(&filter).await?;
    let name = |text: &str| sanitise(text, usize::MAX);
    Ok(page(
        StatusCode::OK,
        &ScenariosPage {
            frame: PageFrame::new(&app.settings, Some(viewer), "scenarios"),
            collections: app.catalog.collections().iter().map(|one| (one.id.clone(), name(&one.name))).collect(),
            robots: robots.into_iter().collect(),
            wanted,
            tiles,
            published: published.iter().map(|scenario| ScenarioTile::published(app, scenario)).collect(),
            published_total,
        },
    ))
}

impl WantedScenarios {
    fn parse(query: &str) -> Self {
        let mut wanted = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()).into_owned() {
            match &*name {
                "collection" => wanted.collection = value,
                "robot" => wanted.robot = value,
                "difficulty" => wanted.difficulty = value,
                "cameras" => wanted.cameras = value,
                "q" => wanted.words = value,
                _ => {}
            }
        }
        wanted
    }

    fn is_in_collection(&self, app: &App, card: &ScenarioCard) -> bool {
        let named = |id: &String| *id == card.id.as_str();
        let mut collections = app.catalog.collections().iter().filter(|one| one.id == self.collection);
        self.collection.is_empty() || collections.any(|one| one.scenarios.iter().any(named))
    }

    fn matches(&self, tile: &ScenarioTile) -> bool {
        let difficulty = self.difficulty.is_empty() || self.difficulty == tile.difficulty.to_string();
        let cameras = match &*self.cameras {
            "with" => tile.cameras > 0,
            "without" => tile.cameras == 0,
            _ => true,
        };
        let text = format!("{} {} {}", tile.id, tile.name, tile.description).to_lowercase();
        let words = self.words.split_whitespace().all(|word| text.contains(&word.to_lowercase()));
        let robot = match &*self.robot {
            "" => true,
            NO_ROBOT => tile.robots.is_empty(),
            id => tile.robots.iter().any(|robot| robot == id),
        };
        difficulty && cameras && words && robot
    }

    /// Returns the difficulties to choose from.
    fn difficulties(&self) -> impl Iterator<Item = String> {
        (1..=MAX_DIFFICULTY).map(|difficulty| difficulty.to_string())
    }
}
