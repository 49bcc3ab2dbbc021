//! `PATCH /models/{id}`: receives a piece of a model.

use assay_model::ModelUploadId;
use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use super::permission::require_upload_scope;
use super::view::{ModelView, respond};
use crate::http::{ApiError, Caller, ErrorCode};
use crate::models::{UPLOAD_OFFSET, append};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// Content types of a piece: any bytes, and those that resumable uploads of tus and of the IETF use.
const CONTENT_TYPES: [&str; 3] =
    ["application/octet-stream", "application/offset+octet-stream", "application/partial-upload"];

/// Upload a piece of a model
///
/// Appends the body to the upload at its current offset, which `Upload-Offset` must name. Every piece but the last has
/// at least 8 MiB (the operator may change this). What was received is kept if the connection breaks: GET the upload
/// for its offset, and continue there. With the last byte, the digest is compared: a file with another digest is
/// removed (422). One request at a time writes to an upload; others get 409. The key needs the scope `verify` or
/// `submit`.
#[utoipa::path(
    patch, path = "/models/{id}", operation_id = "append_to_model", tag = "models",
    params(
        ("id" = uuid::Uuid, Path, description = "Id of the upload"),
        ("Upload-Offset" = u64, Header, description = "Position of the body in the file: the current offset of the upload", minimum = 0),
    ),
    request_body(content = inline(Vec<u8>), content_type = "application/octet-stream", description = "The next bytes of the file"),
    responses(
        (status = 200, description = "The upload with its new offset, or the complete model", body = ref(schema_of::<ModelView>()),
            headers(("Upload-Offset" = u64, description = "Number of bytes that are stored durably"))),
        (status = 400), (status = 404), (status = 408), (status = 409), (status = 415), (status = 422),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    require_upload_scope(&caller)?;
    let upload: ModelUploadId = id.parse().map_err(|_| ApiError::not_found("upload"))?;
    check_type(request.headers())?;
    let offset = offset(request.headers())?;
    let record = append(&app, &caller, upload, offset, request.into_body()).await?;
    Ok(respond(StatusCode::OK, &record))
}

fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if CONTENT_TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    Err(ApiError::new(ErrorCode::UnsupportedMediaType, "send the bytes as application/octet-stream"))
}

fn offset(headers: &HeaderMap) -> Result<u64, ApiError> {
    let text = headers.get(UPLOAD_OFFSET).and_then(|value| value.to_str().ok());
    let number = text.filter(|text| text.bytes().all(|b| b.is_ascii_digit())).and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        ApiError::invalid("Upload-Offset", text, "the header Upload-Offset must be the upload's offset, in bytes")
    })
}
