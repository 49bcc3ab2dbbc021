//! Who asks.

use std::sync::Arc;

use assay_model::{AccountId, Scope};
use assay_store::{KeyRecord, SessionHash};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};

use super::error::{ApiError, ErrorCode};
use super::rate;
use crate::keys::{KeyText, PresentedKey, hashes_equal};
use crate::routes::{self, RateClass};
use crate::sessions::{CSRF_HEADER, SessionSecret};
use crate::state::App;

/// The use of a key is noted at most this often, so that reading stays free of writes.
const TOUCH_EVERY: SignedDuration = SignedDuration::from_secs(60);

/// Whose key came with the request. Handlers take it as an `Extension`.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) key: Arc<KeyRecord>,
    /// The session of a browser that signed in with the key.
    pub(crate) session: Option<SessionHash>,
}

impl Caller {
    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.key.scopes.has(scope)
    }

    /// Looks again whether its key is good: it may have been revoked, or have expired, while the request's body came in.
    pub(crate) async fn revalidate(&self, app: &App) -> Result<(), ApiError> {
        let key = app.records.key(&self.key.id).await?.ok_or_else(|| refused("the API key is not known"))?;
        caller(app, key, self.session, app.clock.now()).map(drop)
    }

    pub(super) fn require(&self, scope: Scope) -> Result<(), ApiError> {
        if self.has(scope) {
            return Ok(());
        }
        Err(ApiError::new(ErrorCode::Forbidden, format!("the key lacks the scope {scope}")))
    }

    /// Whose jobs it may see: `None` is everybody's.
    pub(crate) fn read_scope(&self) -> Option<&AccountId> {
        let all = self.key.scopes.has(Scope::Review) || self.key.scopes.has(Scope::Admin);
        (!all).then_some(&self.key.account)
    }

    /// Whose jobs it may stop or change.
    pub(crate) fn write_scope(&self) -> Option<&AccountId> {
        (!self.key.scopes.has(Scope::Admin)).then_some(&self.key.account)
    }

    /// Notes that a key that may look at everything did so.
    pub(crate) fn audit(&self, owner: &AccountId, what: &str) {
        if *owner != self.key.account {
            tracing::info!(key.id = %self.key.id, account = %self.key.account, owner = %owner, "{what} of another account");
        }
    }
}

/// Everything but the endpoints that the table calls public needs a valid key, unknown paths included, and counts against
/// its rate limits. Of what is public only pages are counted, for whoever shows a key or is signed in.
pub(super) async fn authenticate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let class = rate::class(request.method(), request.uri().path());
    let is_public = routes::is_public(request.uri().path());
    if is_public && class != RateClass::Pages {
        return next.run(request).await;
    }
    let caller = match identify(&app, request.method(), request.headers()).await {
        Ok(caller) => caller,
        Err(_) if is_public => return next.run(request).await,
        Err(error) => return error.into_response(),
    };
    request.extensions_mut().insert(caller.clone());
    let admission = app.rate.admit(&caller.key.id, class, &app.settings.rate, app.clock.now());
    let mut response = match admission.refusal() {
        Some(error) => error.into_response(),
        None => next.run(request).await,
    };
    admission.tell(response.headers_mut());
    response.extensions_mut().insert(caller);
    response
}

/// The header counts where there is one; without it, the cookie of a browser that signed in.
async fn identify(app: &App, method: &Method, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let secret = SessionSecret::of(headers).filter(|_| !headers.contains_key(header::AUTHORIZATION));
    let Some(secret) = secret else { return Ok(authenticate_key(app, bearer(headers)?.into()).await?.0) };
    let (caller, _) = authenticate_session(app, &secret).await?;
    if !method.is_safe() && !secret.has_token(headers) {
        return Err(csrf_rejection());
    }
    Ok(caller)
}

/// Whose key this is, and when it ends.
pub(crate) async fn authenticate_key(
    app: &App,
    presented: PresentedKey,
) -> Result<(Caller, Option<Timestamp>), ApiError> {
    let found = app.records.key(&presented.id).await?;
    let now = app.clock.now();
    let hash = found.as_ref().map_or([0; 32], |key| key.secret_hash);
    // Compared even when there is no such key, so that the time taken does not tell which ids exist.
    let genuine = hashes_equal(&presented.hash, &hash);
    let Some(key) = found.filter(|_| genuine) else { return Err(refused("the API key is not known")) };
    let expiry = key.expires_at;
    Ok((caller(app, key, None, now)?, expiry))
}

/// Who signed in with this secret, and when the session ends.
pub(crate) async fn authenticate_session(app: &App, secret: &SessionSecret) -> Result<(Caller, Timestamp), ApiError> {
    let ended = || refused("the session has ended; sign in again");
    let hash = secret.hash();
    let now = app.clock.now();
    let session = app.records.session(&hash).await?.filter(|session| now < session.expires_at).ok_or_else(ended)?;
    let key = app.records.key(&session.key).await?.ok_or_else(ended)?;
    Ok((caller(app, key, Some(hash), now)?, session.expires_at))
}

/// The answer to a change that a browser sent, but perhaps not the page that it belongs to.
pub(crate) fn csrf_rejection() -> ApiError {
    let message =
        format!("a browser's session changes things only with the header {CSRF_HEADER}; GET /session tells it");
    ApiError::new(ErrorCode::Forbidden, message)
}

fn caller(app: &App, key: Arc<KeyRecord>, session: Option<SessionHash>, now: Timestamp) -> Result<Caller, ApiError> {
    if key.revoked_at.is_some() {
        return Err(refused("the API key was revoked"));
    }
    if !key.is_valid(now) {
        return Err(refused("the API key has expired"));
    }
    touch(app, &key, now);
    Ok(Caller { key, session })
}

fn bearer(headers: &HeaderMap) -> Result<KeyText, ApiError> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        let text = if headers.contains_key(header::AUTHORIZATION) {
            "there is more than one Authorization header"
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
    key.ok_or_else(|| refused("the Authorization header is not of the form: Bearer assay_<id>_<secret>"))
}

fn refused(message: &str) -> ApiError {
    ApiError::unauthorized(message)
}

fn touch(app: &App, key: &KeyRecord, now: Timestamp) {
    if key.last_used_at.is_some_and(|last| now.duration_since(last) < TOUCH_EVERY) {
        return;
    }
    let (app, id) = (app.clone(), key.id.clone());
    tokio::spawn(async move {
        if let Err(error) = app.records.touch_key(&id, now).await {
            error.log(&format!("the use of key {id} was not noted"));
        }
    });
}
