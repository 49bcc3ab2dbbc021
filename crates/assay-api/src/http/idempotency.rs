//! `Idempotency-Key`: a request with a key is executed once, however often it is sent.
//!
//! The key is claimed once the whole request is known, by the code that reads the body ([`IdempotencyGuard::begin`]),
//! and compared by the names and values of parts, not by their encoding. The layer stores the response. Only successes
//! are stored: a rejected request may be corrected and sent again with the same key.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_store::{
    IdempotencyClaim, IdempotencyKey, IdempotencyStart, MAX_RESPONSE_BODY_BYTES, NewJob, StoredResponse, SubmitOutcome,
};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;

use super::auth::Caller;
use super::error::{ApiError, ErrorCode};
use crate::signed_urls::ContentHasher;
use crate::state::App;

/// The request header.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The response header that marks a replayed response.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Retry delay in seconds while the first request is still running.
const RETRY_S: u64 = 1;

/// The idempotency key of a request, as an extension of the request.
#[derive(Clone)]
pub(crate) struct IdempotencyGuard(Arc<IdempotentRequest>);

struct IdempotentRequest {
    app: App,
    caller: Caller,
    key: IdempotencyKey,
    /// Method and path, without `/v1`.
    route: String,
    stage: Mutex<IdempotencyStage>,
}

enum IdempotencyStage {
    /// The request is being read.
    Reading,
    /// The key is claimed by this request.
    Taken(IdempotencyClaim),
    /// The request was executed before.
    Done(StoredResponse),
    /// The response is stored, or the key released.
    Kept,
}

/// An extension of a response that contains a secret: the body to store instead.
#[derive(Debug, Clone)]
pub(crate) struct RedactedBody(pub(crate) Bytes);

pub(super) async fn idempotency(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    mut request: Request,
    next: Next,
) -> Response {
    let key = match key(request.headers()) {
        Ok(Some(key)) => key,
        Ok(None) => return next.run(request).await,
        Err(error) => return error.into_response(),
    };
    let route = format!("{} {}", request.method(), request.uri().path());
    let stage = Mutex::new(IdempotencyStage::Reading);
    let once = IdempotencyGuard(Arc::new(IdempotentRequest { app, caller, key, route, stage }));
    request.extensions_mut().insert(once.clone());
    let freed = ReleaseOnDrop(once.clone());
    let response = next.run(request).await;
    let response = once.settle(response).await;
    drop(freed);
    response
}

fn key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    let mut values = headers.get_all(KEY).iter();
    let (first, second) = (values.next(), values.next());
    let Some(value) = first else { return Ok(None) };
    let key = value.to_str().ok().and_then(IdempotencyKey::parse).filter(|_| second.is_none());
    key.map(Some).ok_or_else(|| {
        let message =
            format!("Idempotency-Key must be one text of 1 to {} visible characters", IdempotencyKey::MAX_BYTES);
        ApiError::invalid("Idempotency-Key", value.to_str().ok(), message)
    })
}

impl IdempotencyGuard {
    /// Returns the guard of a request, if it has a key.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        request.extensions().get().cloned()
    }

    /// Claims the key for the request with this content. An error ends the handler; if the request was executed
    /// before, the layer replaces it with the stored response.
    pub(crate) async fn begin(&self, content: impl FnOnce(&mut ContentHasher)) -> Result<(), ApiError> {
        let IdempotentRequest { app, caller, key, route, .. } = &*self.0;
        let mut hashed = app.signer.content_hasher();
        hashed.add(route.as_bytes());
        content(&mut hashed);
        let (account, key) = (caller.key.account.clone(), key.clone());
        let once = IdempotencyClaim { account, key, request: hashed.finish(), attempt: app.new_id() };
        match app.records.begin_request(once.clone(), app.clock.now()).await? {
            IdempotencyStart::New => {
                *self.stage() = IdempotencyStage::Taken(once);
                Ok(())
            }
            IdempotencyStart::Done(answer) => {
                *self.stage() = IdempotencyStage::Done(answer);
                Err(ApiError::new(ErrorCode::Conflict, "the request was executed before"))
            }
            IdempotencyStart::Running => {
                let message = "the first request with this Idempotency-Key is still running; try again";
                Err(ApiError::try_again(ErrorCode::Conflict, message, RETRY_S))
            }
            IdempotencyStart::Other => {
                let message = "this Idempotency-Key belongs to a request with another route or content; use a new one";
                Err(ApiError::new(ErrorCode::Conflict, message))
            }
        }
    }

    /// Creates a job together with its stored response.
    async fn create_job(&self, job: NewJob, answer: StoredResponse) -> Result<u32, ApiError> {
        self.0.app.records.create_job_idempotently(job, self.taken()?, answer).await?.ok_or_else(lost)
    }

    fn taken(&self) -> Result<IdempotencyClaim, ApiError> {
        match &*self.stage() {
            IdempotencyStage::Taken(once) => Ok(once.clone()),
            _ => Err(lost()),
        }
    }

    async fn settle(&self, response: Response) -> Response {
        let done = match &mut *self.stage() {
            IdempotencyStage::Done(answer) => Some(answer.clone()),
            _ => None,
        };
        match done {
            Some(answer) => replayed(answer),
            None if response.status().is_success() => self.keep(response).await,
            None => response,
        }
    }

    async fn keep(&self, response: Response) -> Response {
        let taken = std::mem::replace(&mut *self.stage(), IdempotencyStage::Kept);
        let IdempotencyStage::Taken(once) = taken else { return response };
        let (parts, body) = response.into_parts();
        // The size of the response is bounded where it is created.
        let body = match axum::body::to_bytes(body, usize::MAX).await {
            Ok(body) => body,
            Err(error) => return ApiError::internal("reading a response body failed", &error).into_response(),
        };
        let kept = parts.extensions.get::<RedactedBody>().map_or(&body, |instead| &instead.0);
        let location = parts.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        let answer = answer(parts.status, location, kept);
        if let Err(error) = self.0.app.records.finish_request(once, answer).await {
            // The response of a job is stored already; any other request may be sent again once the key expires.
            error.log("could not store the response to a request with an idempotency key");
        }
        Response::from_parts(parts, Body::from(body))
    }

    fn stage(&self) -> MutexGuard<'_, IdempotencyStage> {
        self.0.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a job; with an idempotency key together with its stored response.
pub(crate) async fn create_job(
    app: &App,
    once: Option<&IdempotencyGuard>,
    job: NewJob,
    early: impl FnOnce() -> StoredResponse,
) -> Result<u32, ApiError> {
    match once {
        Some(once) => once.create_job(job, early()).await,
        None => Ok(app.records.create_job(job).await?),
    }
}

/// Creates a submission, of which an account may have at most `daily` since `day`; like [`create_job`].
pub(crate) async fn submit(
    app: &App,
    once: Option<&IdempotencyGuard>,
    job: NewJob,
    (daily, day): (u32, Timestamp),
    early: impl FnOnce() -> StoredResponse,
) -> Result<SubmitOutcome, ApiError> {
    match once {
        Some(once) => {
            app.records.submit_idempotently(job, (daily, day), once.taken()?, early()).await?.ok_or_else(lost)
        }
        None => Ok(app.records.submit(job, daily, day).await?),
    }
}

fn lost() -> ApiError {
    ApiError::new(ErrorCode::Conflict, "this Idempotency-Key was taken over by a later request")
}

/// Creates the stored form of a response.
pub(crate) fn answer(status: StatusCode, location: Option<&str>, body: &[u8]) -> StoredResponse {
    let body = (body.len() <= MAX_RESPONSE_BODY_BYTES).then(|| body.to_vec());
    StoredResponse { status: status.as_u16(), location: location.map(str::to_owned), body }
}

fn replayed(answer: StoredResponse) -> Response {
    let Some(body) = answer.body else {
        let message = "the request was executed, but its response was too long to be stored; GET the resource instead";
        return ApiError::new(ErrorCode::Conflict, message).into_response();
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    if let Some(place) = answer.location.and_then(|place| HeaderValue::from_str(&place).ok()) {
        headers.insert(header::LOCATION, place);
    }
    response
}

/// Releases the key of a request that failed, also if its client disconnected or its handler panicked.
struct ReleaseOnDrop(IdempotencyGuard);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        let taken = std::mem::replace(&mut *self.0.stage(), IdempotencyStage::Kept);
        let IdempotencyStage::Taken(once) = taken else { return };
        let app = self.0.0.app.clone();
        tokio::spawn(async move {
            if let Err(error) = app.records.abandon_request(once).await {
                error.log("could not release an idempotency key; it expires later");
            }
        });
    }
}
