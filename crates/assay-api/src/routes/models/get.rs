//! `GET /models/{id}`: a model, or its upload with the offset to continue at.

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::model_id::find;
use super::view::{ModelView, respond};
use crate::http::{ApiError, Caller};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// Get a model
///
/// Returns a model of the caller's account, complete or not, by its digest or by the id of its upload. An interrupted
/// upload continues at `offset`.
#[utoipa::path(
    get, path = "/models/{id}", operation_id = "model", tag = "models",
    params(("id" = String, Path, description = "SHA-256 of the model, or id of its upload", min_length = 1)),
    responses(
        (status = 200, body = ref(schema_of::<ModelView>()),
            headers(("Upload-Offset" = u64, description = "Number of bytes that are stored durably"))),
        (status = 404),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    Ok(respond(StatusCode::OK, &find(&app, &caller, &id).await?))
}
