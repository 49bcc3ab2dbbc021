//! `POST /keys/rotate`: replaces the key that asks by a new one with its name, account, scopes and expiry.

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value;

use super::keys_create::CreatedKey;
use super::keys_list::Shown;
use crate::http::{ApiError, Caller, Json, KeepInstead, named_field, optional_json_body};
use crate::keys::mint;
use crate::state::App;

/// Longest time for which the old key stays valid, in s: a week, for deployments that change slowly.
const MAX_GRACE_S: u32 = 7 * 24 * 3600;

/// How to rotate.
#[derive(Deserialize, Default, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyRotation {
    /// Seconds for which the old key stays valid beside the new one; 0 if absent.
    #[serde(default)]
    #[schema(maximum = 604_800)]
    grace_s: u32,
}

#[utoipa::path(
    post, path = "/keys/rotate", operation_id = "rotate_key", tag = "keys",
    request_body(content = Option<KeyRotation>, example = json!({ "grace_s": 3600 })),
    responses(
        (status = 201, description = "The new key. The old one is refused from now on, or when its grace has passed", body = CreatedKey),
        (status = 400), (status = 408), (status = 413), (status = 415),
    ),
)]
pub(super) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<(StatusCode, Extension<KeepInstead>, Json<CreatedKey>), ApiError> {
    let rotation =
        optional_json_body(&app, request).await?.map_or_else(|| Ok(KeyRotation::default()), |body| read(&body))?;
    let (now, old) = (app.clock.now(), &caller.key);
    let (key, record) = mint(&*app.entropy, now, old.account.clone(), &old.name, old.scopes.clone(), old.expires_at);
    let shown = Shown::from(&record);
    let until = now + SignedDuration::from_secs(rotation.grace_s.into());
    if !app.records.rotate_key(&old.id, record, until, now).await? {
        return Err(ApiError::unauthorized("the API key was revoked or expired meanwhile"));
    }
    caller.audit(&old.account, "rotated a key");
    app.events.look_at_streams();
    CreatedKey::answer(&key, shown)
}

fn read(body: &Value) -> Result<KeyRotation, ApiError> {
    let rotation = KeyRotation::deserialize(body).ok().filter(|rotation| rotation.grace_s <= MAX_GRACE_S);
    rotation.ok_or_else(|| {
        let unknown = KeyRotation::deserialize(body).err().map(|error| error.to_string());
        match unknown.as_deref().and_then(named_field) {
            Some(field) => ApiError::invalid(field, None, format!("{field} is unknown; the body may hold grace_s")),
            None => {
                let given = body.get("grace_s").map(Value::to_string);
                let message = format!("grace_s must be a whole number of seconds from 0 to {MAX_GRACE_S}");
                ApiError::invalid("grace_s", given.as_deref(), message)
            }
        }
    })
}
