//! `GET /keys`: all keys, including revoked ones, without their secrets.

use assay_model::{AccountId, Scope};
use assay_store::KeyRecord;
use axum::extract::State;
use jiff::Timestamp;
use serde::Serialize;

use crate::http::{ApiError, Json};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// A key without its secret.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "Key")]
pub(in crate::routes) struct KeyView {
    id: String,
    account: AccountId,
    name: String,
    scopes: Vec<Scope>,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    /// Time of the last use, accurate to about a minute.
    last_used_at: Option<Timestamp>,
}

impl From<&KeyRecord> for KeyView {
    fn from(key: &KeyRecord) -> Self {
        Self {
            id: key.id.to_string(),
            account: key.account.clone(),
            name: key.name.clone(),
            scopes: key.scopes.iter().collect(),
            created_at: key.created_at,
            expires_at: key.expires_at,
            revoked_at: key.revoked_at,
            last_used_at: key.last_used_at,
        }
    }
}

/// All keys, oldest first.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct KeyList {
    keys: Vec<KeyView>,
}

/// List the API keys
///
/// Returns the keys of all accounts, oldest first, without their secrets: the times at which each was created, last
/// used and revoked, and at which it expires.
#[utoipa::path(get, path = "/keys", operation_id = "keys", tag = "keys", responses((status = 200, body = ref(schema_of::<KeyList>()))))]
pub(in crate::routes) async fn handle(State(app): State<App>) -> Result<Json<KeyList>, ApiError> {
    let keys = app.records.keys(None).await?;
    Ok(Json(KeyList { keys: keys.iter().map(KeyView::from).collect() }))
}
