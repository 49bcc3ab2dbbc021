//! `GET /collections`: curated sets of scenarios.

use assay_scenario::Collection;
use axum::extract::State;
use serde::Serialize;

use crate::http::Json;
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// All collections; never paged.
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
    /// Ids of its scenarios.
    scenarios: Vec<String>,
}

/// List the collections
///
/// Returns the named sets of scenarios, each with the ids of its scenarios. `overall` is the one that the board of all
/// scenarios is made of.
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
