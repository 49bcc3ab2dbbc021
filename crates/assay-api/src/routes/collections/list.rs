//! `GET /collections`: curated sets of scenarios.

use assay_scenario::Collection;
use axum::extract::State;
use serde::Serialize;

use crate::http::Json;
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// All collections, not paginated.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct CollectionList {
    collections: Vec<CollectionView>,
}

/// A set of scenarios.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Collection")]
pub(in crate::routes) struct CollectionView {
    id: String,
    name: String,
    description: String,
    scenario_count: usize,
    /// Ids of the scenarios in the collection.
    scenarios: Vec<String>,
}

/// List the collections
///
/// Returns the named sets of scenarios, each with the ids of its scenarios. The collection `overall` defines the
/// overall leaderboard.
#[utoipa::path(
    get, path = "/collections", operation_id = "collections", tag = "scenarios", responses((status = 200, body = ref(schema_of::<CollectionList>())))
)]
pub(in crate::routes) async fn handle(State(app): State<App>) -> Json<CollectionList> {
    Json(CollectionList { collections: app.catalog.collections().iter().map(entry).collect() })
}

pub(in crate::routes) fn entry(collection: &Collection) -> CollectionView {
    CollectionView {
        id: collection.id.clone(),
        name: collection.name.clone(),
        description: collection.description.clone(),
        scenario_count: collection.scenarios.len(),
        scenarios: collection.scenarios.clone(),
    }
}
