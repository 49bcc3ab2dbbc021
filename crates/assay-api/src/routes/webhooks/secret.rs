//! `POST /webhooks/secret`: creates or rotates the secret that signs the messages to an account's webhooks.

use assay_model::{Scope, Secret};
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::http::{ApiError, Caller, ErrorCode, Json, RedactedBody, no_body};
use crate::routes::openapi::body::schema_of;
use crate::state::App;
use crate::webhooks::new_secret;

/// A new secret.
#[derive(Serialize, schemars::JsonSchema)]
#[schemars(rename = "WebhookSecret")]
pub(in crate::routes) struct NewWebhookSecret {
    /// The secret: `whsec_` and 32 bytes in base64; present only in the first response, `null` in repetitions of it.
    #[schemars(pattern("^whsec_[A-Za-z0-9+/]{43}=$"))]
    secret: Option<String>,
    created_at: Timestamp,
    /// Time until which messages also carry the signature of the previous secret; `null` if there was none.
    previous_until: Option<Timestamp>,
}

/// Create or rotate the webhook secret
///
/// Creates the secret that signs all messages to the account's webhooks; jobs and submissions can have a `callback_url`
/// once it exists. Another request creates a new secret: for a day, messages carry the signatures of both, so that
/// receivers can switch without losing messages. Only this response contains the secret. The key needs the scope
/// `verify` or `submit`.
#[utoipa::path(
    post, path = "/webhooks/secret", operation_id = "rotate_webhook_secret", tag = "webhooks",
    responses((status = 201, description = "The secret that signs messages from now on", body = ref(schema_of::<NewWebhookSecret>()))),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<(StatusCode, Extension<RedactedBody>, Json<NewWebhookSecret>), ApiError> {
    may_have_webhooks(&caller)?;
    no_body(request).await?;
    let (secret, previous_until) = rotate_webhook_secret(&app, &caller).await?;
    let hidden = NewWebhookSecret { secret: None, created_at: app.clock.now(), previous_until };
    let kept = serde_json::to_vec(&hidden).map_err(|e| ApiError::internal("a new secret", &e))?;
    let created = NewWebhookSecret { secret: Some(secret.reveal().to_owned()), ..hidden };
    Ok((StatusCode::CREATED, Extension(RedactedBody(kept.into())), Json(created)))
}

/// Returns an error unless the caller may start jobs, which can have webhooks.
fn may_have_webhooks(caller: &Caller) -> Result<(), ApiError> {
    if !caller.has(Scope::Verify) && !caller.has(Scope::Submit) {
        return Err(ApiError::new(ErrorCode::Forbidden, "the key needs the scope verify or submit"));
    }
    Ok(())
}

/// Creates a webhook secret of the caller's account. Returns it, and the time until which the previous one, if any,
/// signs as well.
///
/// # Errors
/// FORBIDDEN without the scope `verify` or `submit`.
pub(crate) async fn rotate_webhook_secret(app: &App, caller: &Caller) -> Result<(Secret, Option<Timestamp>), ApiError> {
    may_have_webhooks(caller)?;
    let (account, now) = (&caller.key.account, app.clock.now());
    let overlap = SignedDuration::try_from(app.settings.webhooks.overlap_s.get()).unwrap_or(SignedDuration::MAX);
    let until = now.saturating_add(overlap).unwrap_or(Timestamp::MAX);
    let had_one = app.records.webhook_secrets(account).await?.is_some();
    let secret = new_secret(&*app.entropy);
    app.records.set_webhook_secret(account, secret.clone(), until, now).await?;
    tracing::info!(%account, key.id = %caller.key.id, "created a webhook secret");
    Ok((secret, had_one.then_some(until)))
}
