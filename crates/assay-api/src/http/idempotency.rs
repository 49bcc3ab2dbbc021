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

use super::caller::Caller;
use super::error::{ApiError, ErrorCode};
use crate::signed_urls::ContentHasher;
use crate::state::App;

/// The request header.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The response header that marks a replayed response.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Retry delay in seconds while the first request is still running.
const RETRY_S: u64 = 1;

/// The guard of a request with an idempotency key, as an extension of the request.
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

/// The progress of a request with a key.
enum IdempotencyStage {
    /// The request is being read.
    Reading,
    /// The key is claimed by this request.
    Claimed(IdempotencyClaim),
    /// The request was executed before.
    Done(StoredResponse),
    /// The response is stored, or the key released.
    Settled,
}

/// An extension of a response that contains a secret: the body to store instead.
#[derive(Debug, Clone)]
pub(crate) struct RedactedBody(pub(crate) Bytes);

/// Executes a request with an `Idempotency-Key` once, and replays its stored response to repeated requests.
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
    let guard = IdempotencyGuard(Arc::new(IdempotentRequest { app, caller, key, route, stage }));
    request.extensions_mut().insert(guard.clone());
    let release = ReleaseOnDrop(guard.clone());
    let response = next.run(request).await;
    let response = guard.settle(response).await;
    drop(release);
    response
}

/// Returns the key in the headers, if there is one.
fn key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    let mut values = headers.get_all(KEY).iter();
    let (first, second) = (values.next(), values.next());
    let Some(value) = first else { return Ok(None) };
    let key = value.to_str().ok().and_then(IdempotencyKey::parse).filter(|_| second.is_none());
    key.map(Some).ok_or_else(|| {
        let message =
            format!("Idempotency-Key must be a single value of 1 to {} visible characters", IdempotencyKey::MAX_BYTES);
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
        let mut hasher = app.signer.content_hasher();
        hasher.add(route.as_bytes());
        content(&mut hasher);
        let (account, key) = (caller.key.account.clone(), key.clone());
        let claim = IdempotencyClaim { account, key, request: hasher.finish(), attempt: app.new_id() };
        match app.records.begin_request(claim.clone(), app.clock.now()).await? {
            IdempotencyStart::New => {
                *self.stage() = IdempotencyStage::Claimed(claim);
                Ok(())
            }
            IdempotencyStart::Done(stored) => {
                *self.stage() = IdempotencyStage::Done(stored);
                Err(ApiError::new(ErrorCode::Conflict, "the request was executed before"))
            }
            IdempotencyStart::Running => {
                let message = "the first request with this Idempotency-Key is still running; try again";
                Err(ApiError::try_again(ErrorCode::Conflict, message, RETRY_S))
            }
            IdempotencyStart::Other => {
                let message = "this Idempotency-Key was used for a different path or content; use a new one";
                Err(ApiError::new(ErrorCode::Conflict, message))
            }
        }
    }

    /// Creates a job together with its stored response.
    pub(crate) async fn create_job(&self, job: NewJob, stored: StoredResponse) -> Result<u32, ApiError> {
        self.0.app.records.create_job_idempotently(job, self.claim()?, stored).await?.ok_or_else(taken_over)
    }

    /// Creates a submission, of which an account may have at most `daily` since `day`, together with its stored
    /// response.
    pub(crate) async fn submit(
        &self,
        job: NewJob,
        (daily, day): (u32, Timestamp),
        stored: StoredResponse,
    ) -> Result<SubmitOutcome, ApiError> {
        let records = &self.0.app.records;
        records.submit_idempotently(job, (daily, day), self.claim()?, stored).await?.ok_or_else(taken_over)
    }

    /// Returns the claim of this request on its key.
    fn claim(&self) -> Result<IdempotencyClaim, ApiError> {
        match &*self.stage() {
            IdempotencyStage::Claimed(claim) => Ok(claim.clone()),
            _ => Err(taken_over()),
        }
    }

    /// Stores a successful response, or returns the stored one of an earlier execution.
    async fn settle(&self, response: Response) -> Response {
        let done = match &mut *self.stage() {
            IdempotencyStage::Done(stored) => Some(stored.clone()),
            _ => None,
        };
        match done {
            Some(stored) => replay(stored),
            None if response.status().is_success() => self.store(response).await,
            None => response,
        }
    }

    async fn store(&self, response: Response) -> Response {
        let stage = std::mem::replace(&mut *self.stage(), IdempotencyStage::Settled);
        let IdempotencyStage::Claimed(claim) = stage else { return response };
        let (parts, body) = response.into_parts();
        // The size of the response is bounded where it is created.
        let body = match axum::body::to_bytes(body, usize::MAX).await {
            Ok(body) => body,
            Err(error) => return ApiError::internal("reading a response body failed", &error).into_response(),
        };
        let kept = parts.extensions.get::<RedactedBody>().map_or(&body, |instead| &instead.0);
        let location = parts.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        let stored = stored_response(parts.status, location, kept);
        if let Err(error) = self.0.app.records.finish_request(claim, stored).await {
            // The response of a job is stored already; any other request may be sent again once the key expires.
            error.log("could not store the response to a request with an idempotency key");
        }
        Response::from_parts(parts, Body::from(body))
    }

    fn stage(&self) -> MutexGuard<'_, IdempotencyStage> {
        self.0.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error for a request whose claim has expired and was taken over.
fn taken_over() -> ApiError {
    ApiError::new(ErrorCode::Conflict, "this Idempotency-Key was taken over by a later request")
}

/// Creates the stored form of a response.
pub(crate) fn stored_response(status: StatusCode, location: Option<&str>, body: &[u8]) -> StoredResponse {
    let body = (body.len() <= MAX_RESPONSE_BODY_BYTES).then(|| body.to_vec());
    StoredResponse { status: status.as_u16(), location: location.map(str::to_owned), body }
}

/// Converts a stored response to a response marked as replayed.
fn replay(stored: StoredResponse) -> Response {
    let Some(body) = stored.body else {
        let message = "the request was executed, but its response was too long to be stored; GET the resource instead";
        return ApiError::new(ErrorCode::Conflict, message).into_response();
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    if let Some(place) = stored.location.and_then(|place| HeaderValue::from_str(&place).ok()) {
        headers.insert(header::LOCATION, place);
    }
    response
}

/// Releases the key of a request that failed, including when its client disconnected or its handler panicked.
struct ReleaseOnDrop(IdempotencyGuard);

impl Drop for ReleaseOnDrop {
    fn drop(&mut self) {
        let stage = std::mem::replace(&mut *self.0.stage(), IdempotencyStage::Settled);
        let IdempotencyStage::Claimed(claim) = stage else { return };
        let app = self.0.0.app.clone();
        tokio::spawn(async move {
            if let Err(error) = app.records.abandon_request(claim).await {
                error.log("could not release an idempotency key; it expires later");
            }
        });
    }
}
