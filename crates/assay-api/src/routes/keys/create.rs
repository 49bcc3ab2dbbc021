//! `POST /keys`: creates a key whose scopes are a subset of the requesting key's. Only this response contains its
//! secret.

use assay_model::{AccountId, Scope, Scopes};
use assay_store::KeyRecord;
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::http::{ApiError, Caller, ErrorCode, Json, RedactedBody, json_body, read_body};
use crate::keys::{KeyText, mint};
use crate::routes::keys::list::KeyView;
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// Maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 100;

/// The key to create.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKey {
    /// Name of the key: 1 to 100 characters, at least one of them visible.
    #[schemars(pattern("[^\\s\\x00-\\x1f\\x7f-\\x9f]"), length(min = 1, max = 100))]
    pub(crate) name: String,
    /// Scopes of the key; a subset of the scopes of the key that creates it.
    #[schemars(length(min = 1))]
    pub(crate) scopes: Vec<Scope>,
    /// Account that owns the key; the caller's own account if absent.
    #[serde(default)]
    pub(crate) account: Option<AccountId>,
    /// Time at which the key expires; never if absent.
    #[serde(default)]
    pub(crate) expires_at: Option<Timestamp>,
}

/// The response with a new key and its secret, and the redacted body to store.
pub(in crate::routes) type CreatedKeyResponse = (StatusCode, Extension<RedactedBody>, Json<CreatedKey>);

/// A new key.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct CreatedKey {
    /// The full key; present only in the first response, `null` in repetitions of it.
    key: Option<String>,
    #[serde(flatten)]
    shown: KeyView,
}

/// Create an API key
///
/// Returns the secret once; the service stores only its hash. The new key may belong to any account, but cannot have a
/// scope that the requesting key lacks (403).
#[utoipa::path(
    post, path = "/keys", operation_id = "create_key", tag = "keys",
    request_body(content = ref(schema_of::<NewKey>())),
    responses((status = 201, body = ref(schema_of::<CreatedKey>())), (status = 400), (status = 408), (status = 413), (status = 415)),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<CreatedKeyResponse, ApiError> {
    let wish: NewKey = read_body(&json_body(&app, request).await?, false)?;
    let (key, record) = create_key(&app, &caller, wish).await?;
    answer(&key, KeyView::from(&record))
}

/// Creates a key. Returns its text, which is shown once, and its record.
pub(crate) async fn create_key(app: &App, caller: &Caller, wish: NewKey) -> Result<(KeyText, KeyRecord), ApiError> {
    let now = app.clock.now();
    let scopes: Scopes = wish.scopes.into_iter().collect();
    let name = assay_model::sanitise(&wish.name, usize::MAX).replace(['\n', '\t'], " ");
    if name.trim().is_empty() || name.chars().count() > MAX_NAME_CHARS {
        let message = format!("name must have 1 to {MAX_NAME_CHARS} characters, at least one of them visible");
        return Err(ApiError::invalid("name", Some(&wish.name), message));
    }
    if scopes.is_empty() {
        return Err(ApiError::invalid("scopes", None, "scopes is empty: name at least one"));
    }
    if let Some(lacking) = scopes.iter().find(|scope| !caller.has(*scope)) {
        return Err(ApiError::new(
            ErrorCode::Forbidden,
            format!("the key lacks the scope {lacking}, so it can't grant it"),
        ));
    }
    if let Some(end) = wish.expires_at.filter(|end| *end <= now) {
        return Err(ApiError::invalid("expires_at", Some(&end.to_string()), "expires_at is in the past"));
    }
    let account = wish.account.unwrap_or_else(|| caller.key.account.clone());
    let (key, record) = mint(&*app.entropy, now, account, name.trim(), scopes, wish.expires_at);
    caller.record_access(app, (&record.account, &record.id), "created a key").await?;
    app.records.create_key(record.clone()).await?;
    tracing::info!(key.id = %caller.key.id, key.new = %record.id, account = %record.account, "created a key");
    Ok((key, record))
}

/// Creates the response with the key, and the one without it that is stored for an idempotency key.
pub(in crate::routes) fn answer(key: &KeyText, shown: KeyView) -> Result<CreatedKeyResponse, ApiError> {
    let hidden = CreatedKey { key: None, shown };
    let kept = serde_json::to_vec(&hidden).map_err(|e| ApiError::internal("a new key", &e))?;
    let created = CreatedKey { key: Some(key.reveal().to_owned()), ..hidden };
    Ok((StatusCode::CREATED, Extension(RedactedBody(kept.into())), Json(created)))
}
