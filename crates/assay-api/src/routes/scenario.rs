//! `GET /scenarios/{id}`.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::Value;

use super::present;
use crate::http::ApiError;
use crate::state::App;

pub(super) async fn handle(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    let card = id.parse().ok().and_then(|id| app.catalog.get(&id)).ok_or_else(|| ApiError::not_found("scenario"))?;
    Ok(Json(present::scenario(&card, true)))
}
