//! `/ui/keys`: the API keys of all accounts, for administrators: create, replace, revoke.

use askama::Template;
use assay_model::{Scope, sanitise};
use assay_store::KeyRecord;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::{SignedDuration, Timestamp};

use super::job_line::in_words;
use super::page::{PageFrame, failure, go_to, page, to_sign_in};
use super::posted;
use super::viewer::{MaybeViewer, Viewer};
use crate::http::ApiError;
use crate::routes::{NewKey, RateClass, create_key, revoke_key};
use crate::state::App;

/// Longest life of a key that the form offers, in days.
const MAX_DAYS: i64 = 3650;
const HOURS_PER_DAY: i64 = 24;

#[derive(Template)]
#[template(path = "ui/keys.html")]
struct KeysPage {
    frame: PageFrame,
    lines: Vec<KeyLine>,
    scopes: [Scope; 6],
    max_days: i64,
    /// The text of a key that was just made, shown once.
    secret: Option<String>,
    complaint: Option<String>,
}

/// The question before a key is revoked or replaced.
#[derive(Template)]
#[template(path = "ui/key.html")]
struct KeyPage {
    frame: PageFrame,
    line: KeyLine,
    is_own: bool,
}

/// A key as a line of the list.
struct KeyLine {
    id: String,
    name: String,
    account: String,
    scopes: String,
    made: String,
    used: String,
    /// `valid`, `revoked` or `expired`, with the date.
    state: String,
    is_valid: bool,
}

/// Shows the list.
pub(crate) async fn handle(State(app): State<App>, MaybeViewer(viewer): MaybeViewer) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = list(&app, &viewer, StatusCode::OK, None, None).await;
    shown.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Creates a key, and shows its text once.
pub(crate) async fn create(State(app): State<App>, request: Request) -> Response {
    let (viewer, form) = match posted::receive(&app, request, RateClass::Write).await {
        Ok(sent) => sent,
        Err(error) => return failure(&app, None, &error),
    };
    let made = async {
        viewer.require(Scope::Admin)?;
        let wanted = wanted_key(&form, app.clock.now());
        match async { create_key(&app, &viewer.caller, wanted?).await }.await {
            Ok((key, _)) => list(&app, &viewer, StatusCode::CREATED, Some(key.reveal().to_owned()), None).await,
            Err(error) if error.is_server_error() => Err(error),
            Err(error) => list(&app, &viewer, error.status(), None, Some(error.message().to_owned())).await,
        }
    };
    made.await.unwrap_or_else(|error| failure(&app, Some(&viewer), &error))
}

/// Asks before a key is revoked or replaced.
pub(crate) async fn ask(State(app): State<App>, MaybeViewer(viewer): MaybeViewer, Path(id): Path<String>) -> Response {
    let Some(viewer) = viewer else { return to_sign_in(&app) };
    let shown = async {
        viewer.require(Scope::Admin)?;
        let absent = || ApiError::not_found("key");
        let id = assay_store::KeyId::parse(&id).ok_or_else(absent)?;
        let key = app.records.key(&id).await?.ok_or_else(absent)?;
        let frame = PageFrame::new(&app.settings, Some(&viewer), "keys");
        let is_own = viewer.caller.key.id == id;
        Ok(page(StatusCode::OK, &KeyPage { frame, line: KeyLine::new(&key, app.clock.now()), is_own }))
    };
    shown.await.unwrap_or_else(|error: ApiError| failure(&app, Some(&viewer), &error))
}

/// Revokes a key, and redirects back to the list.
pub(crate) async fn revoke(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let done = async {
        let (viewer, _) = posted::receive(&app, request, RateClass::Write).await?;
        viewer.require(Scope::Admin)?;
        revoke_key(&app, &viewer.caller, &id).await?;
        Ok(go_to(&app, "/ui/keys").into_response())
    };
    done.await.unwrap_or_else(|error: ApiError| failure(&app, None, &error))
}

/// Creates a key with the account, name, scopes and expiry of another, revokes that, and shows the new text once.
pub(crate) async fn replace(State(app): State<App>, Path(id): Path<String>, request: Request) -> Response {
    let (viewer, _) = match posted::receive(&app, request, RateClass::Write).await {
        Ok(sent) => sent,
        Err(error) => return failure(&app, None, &error),
    };
    let done = async {
        viewer.require(Scope::Admin)?;
        let absent = || ApiError::not_found("key");
        let id = assay_store::KeyId::parse(&id).ok_or_else(absent)?;
        let old = app.records.key(&id).await?.filter(|key| key.is_valid(app.clock.now())).ok_or_else(absent)?;
        let wanted = NewKey {
            name: old.name.clone(),
            scopes: old.scopes.iter().collect(),
            account: Some(old.account.clone()),
            expires_at: old.expires_at,
        };
        let (key, _) = create_key(&app, &viewer.caller, wanted).await?;
        revoke_key(&app, &viewer.caller, id.as_str()).await?;
        list(&app, &viewer, StatusCode::CREATED, Some(key.reveal().to_owned()), None).await
    };
    done.await.unwrap_or_else(|error: ApiError| failure(&app, Some(&viewer), &error))
}

/// Returns the key that a form asks for.
fn wanted_key(form: &super::form::PageForm, now: Timestamp) -> Result<NewKey, ApiError> {
    let account = match form.text("account").trim() {
        "" => None,
        text => Some(text.parse().map_err(|_| {
            let message = "an account has a to z, 0 to 9, - and _";
            ApiError::invalid("account", Some(text), message)
        })?),
    };
    let expires_at = match form.text("days").trim() {
        "" => None,
        text => {
            let days = text.parse().ok().filter(|days| (1..=MAX_DAYS).contains(days)).ok_or_else(|| {
                let message = format!("days must be a whole number from 1 to {MAX_DAYS}");
                ApiError::invalid("days", Some(text), message)
            })?;
            now.checked_add(SignedDuration::from_hours(days * HOURS_PER_DAY)).ok()
        }
    };
    let scopes = Scope::ALL.into_iter().filter(|scope| !form.text(scope.as_str()).is_empty()).collect();
    Ok(NewKey { name: form.text("name").to_owned(), scopes, account, expires_at })
}

async fn list(
    app: &App,
    viewer: &Viewer,
    status: StatusCode,
    secret: Option<String>,
    complaint: Option<String>,
) -> Result<Response, ApiError> {
    viewer.require(Scope::Admin)?;
    let now = app.clock.now();
    let mut keys = app.records.keys(None).await?;
    // Valid ones first, the newest at the top.
    keys.sort_by_key(|key| (!key.is_valid(now), std::cmp::Reverse(key.created_at)));
    let frame = PageFrame::new(&app.settings, Some(viewer), "keys");
    let lines = keys.iter().map(|key| KeyLine::new(key, now)).collect();
    Ok(page(status, &KeysPage { frame, lines, scopes: Scope::ALL, max_days: MAX_DAYS, secret, complaint }))
}

impl KeyLine {
    fn new(key: &KeyRecord, now: Timestamp) -> Self {
        let is_valid = key.is_valid(now);
        let state = match (key.revoked_at, key.expires_at) {
            (Some(at), _) => format!("revoked {}", in_words(at)),
            (None, Some(at)) if is_valid => format!("until {}", in_words(at)),
            (None, Some(at)) => format!("expired {}", in_words(at)),
            (None, None) => "without expiry".to_owned(),
        };
        Self {
            id: key.id.to_string(),
            name: sanitise(&key.name, usize::MAX),
            account: key.account.to_string(),
            scopes: key.scopes.to_string().replace(',', ", "),
            made: in_words(key.created_at),
            used: key.last_used_at.map_or_else(|| "never".to_owned(), in_words),
            state,
            is_valid,
        }
    }
}
