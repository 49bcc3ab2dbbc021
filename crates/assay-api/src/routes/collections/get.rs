//! `GET /collections/{id}`.

use axum::extract::{Path, State};

use crate::http::{ApiError, Json};
use crate::routes::collections::list::{CollectionView, entry};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// Get a collection
///
/// Returns a named set of scenarios with their ids, in the intended order.
#[utoipa::path(
    get, path = "/collections/{id}", operation_id = "collection", tag = "scenarios",
    params(("id" = String, Path, description = "Id of the collection", min_length = 1)),
    responses((status = 200, body = ref(schema_of::<CollectionView>())), (status = 400), (status = 404)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<CollectionView>, ApiError> {
    let found = app.catalog.collections().iter().find(|collection| collection.id == id);
    found.map(|collection| Json(entry(collection))).ok_or_else(|| ApiError::not_found("collection"))
}
