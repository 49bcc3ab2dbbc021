//! Authentication.

use std::sync::Arc;

use assay_store::{KeyId, KeyRecord, SessionHash};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};

use super::caller::Caller;
use super::error::{ApiError, ErrorCode};
use crate::keys::{KeyText, PresentedKey, hashes_equal};
use crate::routes::{AccessRules, RateClass};
use crate::sessions::{CSRF_HEADER, SessionSecret};
use crate::state::App;

/// Minimum interval between two updates of a key's last use, so that reads cause few writes.
const USE_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

impl Caller {
    /// Checks the key again: it may have been revoked, or have expired, while the request's body was received.
    pub(crate) async fn revalidate(&self, app: &App) -> Result<(), ApiError> {
        Self::load(app, &self.key.id, self.session).await.map(drop)
    }

    /// Returns the caller with this key, of which an earlier request is remembered.
    ///
    /// # Errors
    /// The key is no longer valid.
    pub(crate) async fn load(app: &App, key: &KeyId, session: Option<SessionHash>) -> Result<Self, ApiError> {
        let key = app.records.key(key).await?.ok_or_else(|| unauthorized("the API key is not known"))?;
        valid_caller(app, key, session, app.clock.now())
    }
}

/// The state of [`authenticate`].
#[derive(Debug, Clone)]
pub(super) struct Authentication {
    pub(super) app: App,
    pub(super) rules: Arc<AccessRules>,
}

/// Requires a valid key for all paths except public endpoints, and applies the key's rate limits. Of the public
/// endpoints only pages are counted, for requests with a key or a session.
pub(super) async fn authenticate(
    State(Authentication { app, rules }): State<Authentication>,
    mut request: Request,
    next: Next,
) -> Response {
    let class = rules.rate_class(request.method(), request.uri().path());
    let is_public = rules.is_public(request.uri().path());
    if is_public && class != RateClass::Pages {
        return next.run(request).await;
    }
    let caller = match identify(&app, request.method(), request.headers()).await {
        Ok(caller) => caller,
        Err(_) if is_public => return next.run(request).await,
        Err(error) => return error.into_response(),
    };
    request.extensions_mut().insert(caller.clone());
    let admission = match app.rate.admit(&caller.key.id, class, &app.settings.rate, app.clock.now()).await {
        Ok(admission) => admission,
        Err(error) => return ApiError::from(error).into_response(),
    };
    let mut response = match admission.refusal() {
        Some(error) => error.into_response(),
        None => next.run(request).await,
    };
    admission.write_headers(response.headers_mut());
    response.extensions_mut().insert(caller);
    response
}

/// Identifies the caller by the `Authorization` header, or without it by the session cookie.
pub(crate) async fn identify(app: &App, method: &Method, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let has_key = headers.contains_key(header::AUTHORIZATION);
    let secret = if has_key { None } else { SessionSecret::of(headers, &app.settings)? };
    let Some(secret) = secret else { return Ok(authenticate_key(app, bearer(headers)?.into()).await?.0) };
    let (caller, _) = authenticate_session(app, &secret).await?;
    if !method.is_safe() && !secret.has_token(headers) {
        return Err(csrf_rejection());
    }
    Ok(caller)
}

/// Authenticates a key. Returns the caller, and the expiry of the key.
pub(crate) async fn authenticate_key(
    app: &App,
    presented: PresentedKey,
) -> Result<(Caller, Option<Timestamp>), ApiError> {
    let found = app.records.key(&presented.id).await?;
    let now = app.clock.now();
    let hash = found.as_ref().map_or([0; 32], |key| key.secret_hash);
    // Compared even if there is no such key, so that the response time does not reveal which ids exist.
    let genuine = hashes_equal(&presented.hash, &hash);
    let Some(key) = found.filter(|_| genuine) else { return Err(unauthorized("the API key is not known")) };
    let expiry = key.expires_at;
    Ok((valid_caller(app, key, None, now)?, expiry))
}

/// Authenticates a session. Returns the caller, and the expiry of the session.
pub(crate) async fn authenticate_session(app: &App, secret: &SessionSecret) -> Result<(Caller, Timestamp), ApiError> {
    let ended = || unauthorized("the session has ended; sign in again");
    let hash = secret.hash();
    let now = app.clock.now();
    let session = app.records.session(&hash).await?.filter(|session| now < session.expires_at).ok_or_else(ended)?;
    let key = app.records.key(&session.key).await?.ok_or_else(ended)?;
    Ok((valid_caller(app, key, Some(hash), now)?, session.expires_at))
}

/// Returns the error for a change by a browser session without a CSRF token.
pub(crate) fn csrf_rejection() -> ApiError {
    let message = format!("changes in a browser session need the header {CSRF_HEADER}; GET /session returns its value");
    ApiError::new(ErrorCode::Forbidden, message)
}

fn valid_caller(
    app: &App,
    key: Arc<KeyRecord>,
    session: Option<SessionHash>,
    now: Timestamp,
) -> Result<Caller, ApiError> {
    if key.revoked_at.is_some() {
        return Err(unauthorized("the API key was revoked"));
    }
    if !key.is_valid(now) {
        return Err(unauthorized("the API key has expired"));
    }
    record_use(app, &key, now);
    Ok(Caller { key, session })
}

fn bearer(headers: &HeaderMap) -> Result<KeyText, ApiError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        let text = if headers.contains_key(header::AUTHORIZATION) {
            "the request has more than one Authorization header"
        } else {
            "an API key is needed: Authorization: Bearer assay_<id>_<secret>"
        };
        let error = ApiError::new(ErrorCode::Unauthorized, text);
        return Err(error.with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"assay\"")));
    };
    let key = value.to_str().ok().and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().parse().ok())?
    });
    key.ok_or_else(|| unauthorized("the Authorization header is not of the form: Bearer assay_<id>_<secret>"))
}

fn unauthorized(message: &str) -> ApiError {
    ApiError::unauthorized(message)
}

fn record_use(app: &App, key: &KeyRecord, now: Timestamp) {
    if key.last_used_at.is_some_and(|last| now.duration_since(last) < USE_INTERVAL) {
        return;
    }
    let (app, id) = (app.clone(), key.id.clone());
    tokio::spawn(async move {
        if let Err(error) = app.records.touch_key(&id, now).await {
            error.log(&format!("could not record the use of key {id}"));
        }
    });
}
