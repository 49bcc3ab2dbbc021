//! `POST /keys/rotate`: replaces the requesting key with a new one that has the same account, name, scopes and expiry.
//! The old key is rejected from then on, as are the sessions and streams that were opened with it.

use assay_store::KeyRecord;
use axum::Extension;
use axum::extract::{Request, State};

use crate::http::{ApiError, Caller, ErrorCode, IdempotencyGuard};
use crate::keys::mint;
use crate::routes::keys::create::{CreatedKey, CreatedKeyResponse, answer};
use crate::routes::keys::list::KeyView;
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// Rotate the key of the request
///
/// Replaces the requesting key with a new one that has the same account, name, scopes and expiry. The old key is
/// rejected from then on. Only this response contains the new secret; a client that loses it needs a new key from an
/// administrator.
#[utoipa::path(
    post, path = "/keys/rotate", operation_id = "rotate_key", tag = "keys",
    responses((status = 201, description = "The new key, which replaces the requesting key", body = ref(schema_of::<CreatedKey>()))),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<CreatedKeyResponse, ApiError> {
    if caller.session.is_some() {
        let message = "a browser session can't rotate its key; send the key itself in the Authorization header";
        return Err(ApiError::new(ErrorCode::Forbidden, message));
    }
    if let Some(once) = IdempotencyGuard::of(&request) {
        // The same idempotency key sent with another API key of the account is a different request.
        once.begin(|content| content.add(caller.key.id.as_str().as_bytes())).await?;
    }
    let KeyRecord { id, account, name, scopes, expires_at, .. } = &*caller.key;
    let now = app.clock.now();
    let (key, record) = mint(&*app.entropy, now, account.clone(), name, scopes.clone(), *expires_at);
    let shown = KeyView::from(&record);
    app.rate.carry_over(id, key.id(), now).await?;
    if !app.records.rotate_key(id, record, now).await? {
        return Err(ApiError::unauthorized("the API key was revoked"));
    }
    tracing::info!(key.id = %id, key.new = %key.id(), "a key was rotated");
    app.events.recheck_streams();
    answer(&key, shown)
}
