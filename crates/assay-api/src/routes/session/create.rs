//! `POST /session`: signs a browser in with a key. `GET /session` returns the current session.

use assay_model::{AccountId, Scope};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::http::{ApiError, Caller, Json, authenticate_session, json_body, read_body};
use crate::routes::openapi::body::schema_of;
use crate::sessions::SessionSecret;
use crate::sign_in::{SignedIn, sign_in};
use crate::state::App;

/// Credentials for signing in.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct SignIn {
    /// An API key: `assay_<id>_<secret>`. The browser does not keep it.
    #[schemars(extend("writeOnly" = true, "format" = "password"))]
    key: String,
}

/// A browser session.
#[derive(Serialize, schemars::JsonSchema)]
pub(in crate::routes) struct Session {
    account: AccountId,
    /// Scopes of the session, which are those of its key.
    scopes: Vec<Scope>,
    /// Time at which the session expires; it also ends when its key does.
    expires_at: Timestamp,
    /// Token to send as the header `X-CSRF-Token` with every request other than GET.
    csrf_token: String,
}

/// Sign in with a key
///
/// Creates a session for an API key and sets it as a cookie, for browsers. Scripts do not need a session: they send the
/// key itself. The key is accepted only in the body.
#[utoipa::path(
    post, path = "/session", operation_id = "sign_in", tag = "keys",
    request_body(content = ref(schema_of::<SignIn>())),
    responses(
        (status = 201, description = "Signed in; the response sets a cookie that scripts can't read", body = ref(schema_of::<Session>())),
        (status = 400), (status = 401), (status = 408), (status = 413), (status = 415), (status = 429),
    ),
)]
pub(in crate::routes) async fn handle(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let value = json_body(&app, request).await?;
    let wish: SignIn = read_body(&value, true)?;
    let SignedIn { caller, secret, expires_at, cookie } = sign_in(&app, &wish.key).await?;
    let cookie = cookie.map(|cookie| (header::SET_COOKIE, cookie));
    let session = shown(&caller, &secret, expires_at);
    Ok((StatusCode::CREATED, AppendHeaders(cookie), Json(session)).into_response())
}

/// Get the session
///
/// Returns the account, scopes and expiry of the session in the request's cookie, and the token that changing requests
/// need. Without the cookie the response is 401, even if the request has a key.
#[utoipa::path(
    get, path = "/session", operation_id = "session", tag = "keys",
    responses((status = 200, description = "The session in the cookie", body = ref(schema_of::<Session>())), (status = 401)),
)]
pub(in crate::routes) async fn show(State(app): State<App>, headers: HeaderMap) -> Result<Json<Session>, ApiError> {
    let secret = SessionSecret::of(&headers, &app.settings)?
        .ok_or_else(|| ApiError::unauthorized("no session: sign in first (POST /session)"))?;
    let (caller, expires_at) = authenticate_session(&app, &secret).await?;
    Ok(Json(shown(&caller, &secret, expires_at)))
}

fn shown(caller: &Caller, secret: &SessionSecret, expires_at: Timestamp) -> Session {
    let scopes = Scope::ALL.into_iter().filter(|scope| caller.has(*scope)).collect();
    Session { account: caller.key.account.clone(), scopes, expires_at, csrf_token: secret.token() }
}
