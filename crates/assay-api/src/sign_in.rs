//! Signing a browser in and out: the operations behind `/session` and behind the pages.

use axum::http::HeaderValue;
use jiff::{SignedDuration, Timestamp};

use crate::http::{ApiError, Caller, authenticate_key, count_operation};
use crate::keys::KeyText;
use crate::routes::RateClass;
use crate::sessions::SessionSecret;
use crate::state::App;

/// A session that has just begun.
pub(crate) struct SignedIn {
    pub(crate) caller: Caller,
    pub(crate) secret: SessionSecret,
    pub(crate) expires_at: Timestamp,
    /// The `Set-Cookie` value.
    pub(crate) cookie: Option<HeaderValue>,
}

/// Begins a session with an API key. Its secret is always new, so a cookie planted beforehand is worth nothing.
pub(crate) async fn sign_in(app: &App, key: &str) -> Result<SignedIn, ApiError> {
    // A malformed key is rejected like an unknown one.
    let key: KeyText = key.trim().parse().map_err(|_| ApiError::unauthorized("not a valid API key"))?;
    let (caller, expiry) = authenticate_key(app, key.into()).await?;
    count_operation(app, &caller, RateClass::Sessions).await?;
    let now = app.clock.now();
    let lasts = SignedDuration::try_from(app.settings.browsers.session_s.get()).unwrap_or(SignedDuration::MAX);
    let end = now.saturating_add(lasts).unwrap_or(Timestamp::MAX);
    let expires_at = expiry.map_or(end, |expiry| expiry.min(end));
    let secret = SessionSecret::new(&*app.entropy);
    let record =
        assay_store::SessionRecord { hash: secret.hash(), key: caller.key.id.clone(), created_at: now, expires_at };
    app.records.create_session(record).await?;
    let seconds = expires_at.duration_since(now).as_secs().max(0).unsigned_abs();
    let cookie = secret.cookie(&app.settings, seconds);
    Ok(SignedIn { caller, secret, expires_at, cookie })
}

/// Ends a session and its event streams. Ending it again has no effect.
pub(crate) async fn sign_out(app: &App, secret: &SessionSecret) -> Result<(), ApiError> {
    let hash = secret.hash();
    // Without a session nothing is written, so the rate of sign-ins also limits what signing out writes.
    if app.records.session(&hash).await?.is_none() {
        return Ok(());
    }
    app.records.end_session(&hash).await?;
    app.events.recheck_streams();
    Ok(())
}
