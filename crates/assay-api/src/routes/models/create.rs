//! `POST /models`: announces a model, and creates its upload unless the account has it already.

use assay_model::Sha256Digest;
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;

use super::permission::require_upload_scope;
use super::view::{ModelView, respond};
use crate::http::{ApiError, Caller, json_body, read_body};
use crate::links;
use crate::models::{Announced, announce};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// Maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 200;

/// The model to announce.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct ModelAnnouncement {
    /// SHA-256 of the file.
    sha256: Sha256Digest,
    /// Size of the file in bytes.
    #[schemars(range(min = 1))]
    size_bytes: u64,
    /// Name for people, such as that of the file: up to 200 characters.
    #[schemars(length(max = 200))]
    #[serde(default)]
    name: Option<String>,
}

/// Announce a model
///
/// Creates the upload of a large file that policies use by its digest (`[[models]]` in `policy.toml`). Its size counts
/// against the account's quota from now on. If the account has announced the digest before, the response is 200 with
/// the model, whose upload continues at `offset` or is complete. The key needs the scope `verify` or `submit`.
#[utoipa::path(
    post, path = "/models", operation_id = "announce_model", tag = "models",
    request_body(content = ref(schema_of::<ModelAnnouncement>())),
    responses(
        (status = 201, description = "The upload; send the file in pieces with PATCH", body = ref(schema_of::<ModelView>()),
            headers(("Location" = String, description = "URL of the upload"),
                ("Upload-Offset" = u64, description = "Number of bytes that are stored durably"))),
        (status = 200, description = "The account has announced this model before", body = ref(schema_of::<ModelView>()),
            headers(("Location" = String, description = "URL of the upload"),
                ("Upload-Offset" = u64, description = "Number of bytes that are stored durably"))),
        (status = 400), (status = 408), (status = 413), (status = 415),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, ApiError> {
    require_upload_scope(&caller)?;
    let ModelAnnouncement { sha256, size_bytes, name } = read_body(&json_body(&app, request).await?, false)?;
    if size_bytes == 0 {
        return Err(ApiError::invalid("size_bytes", Some("0"), "size_bytes must be at least 1"));
    }
    let name = name.map(|name| checked_name(&name)).transpose()?.filter(|name| !name.is_empty());
    let (record, is_new) = announce(&app, &caller, Announced { sha256, size_bytes, name }).await?;
    let mut response = respond(if is_new { StatusCode::CREATED } else { StatusCode::OK }, &record);
    let location = links::address(&app.settings, &format!("/models/{}", record.upload));
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

fn checked_name(name: &str) -> Result<String, ApiError> {
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(ApiError::invalid(
            "name",
            Some(name),
            format!("name may have at most {MAX_NAME_CHARS} characters"),
        ));
    }
    Ok(assay_model::sanitise(name.trim(), usize::MAX))
}
