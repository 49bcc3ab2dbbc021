//! `GET /models`: the account's models, newest first.

use axum::Extension;
use axum::extract::{RawQuery, State};
use serde::Serialize;

use super::view::ModelView;
use crate::http::{ApiError, Caller, Json};
use crate::routes::openapi::body::schema_of;
use crate::routes::query::Query;
use crate::state::App;

/// A page of models, newest first.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct ModelPage {
    models: Vec<ModelView>,
    total: u64,
    limit: u32,
    offset: u32,
}

/// List my models
///
/// Returns a page of the models of the caller's account, newest first, unfinished uploads included.
#[utoipa::path(
    get, path = "/models", operation_id = "models", tag = "models",
    params(
        ("limit" = inline(Option<u32>), Query, description = "Maximum number of models on the page; 20 if absent", minimum = 1, maximum = 100),
        ("offset" = inline(Option<u32>), Query, description = "Number of models to skip", minimum = 0, maximum = 2_147_483_647),
    ),
    responses((status = 200, body = ref(schema_of::<ModelPage>())), (status = 400)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Json<ModelPage>, ApiError> {
    let query = Query::parse(query.as_deref());
    let limit = query.number("limit", 20, 1, 100)?;
    let offset = query.number("offset", 0, 0, i32::MAX.unsigned_abs())?;
    let (found, total) = app.records.models(&caller.key.account, limit, offset).await?;
    Ok(Json(ModelPage { models: found.iter().map(ModelView::from).collect(), total, limit, offset }))
}
