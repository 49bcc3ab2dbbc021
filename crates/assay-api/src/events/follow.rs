//! Opening a stream.

use std::collections::VecDeque;

use assay_model::JobKind;
use assay_store::JobRecord;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::job_stream::JobStream;
use super::progress;
use super::update::{EventFrame, RETRY};
use crate::http::{ApiError, Caller, ErrorCode, accepts};
use crate::routes::erased;
use crate::state::App;

const LAST_EVENT_ID: &str = "last-event-id";
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const KIND: &str = "text/event-stream";

/// The events of a job, which the caller was found to be allowed to see: its state at once, or what happened after the event that the client had
/// last (`Last-Event-ID`), and then what happens, until it has ended. 204 when the client has had all there will be.
pub(crate) async fn follow(
    app: &App,
    caller: &Caller,
    record: &JobRecord,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    accept(headers)?;
    erased::none(record)?;
    let job = record.header.job_id;
    let hub = app.events.clone();
    if hub.is_stopping() {
        return Err(stopping());
    }
    let slot = hub.0.slots.acquire(caller, app.settings.account.streams, app.settings.events.max_streams)?;
    // First the ear, then the records: what happens in between is heard twice, and told once.
    let signals = hub.subscribe(job, record.header.kind() == JobKind::Verify).await?;
    let last = app.records.last_event(job).await?.ok_or_else(|| ApiError::not_found("job"))?;
    let had = last_event_id(headers).filter(|had| *had <= last.number);
    if last.status.is_final() && had == Some(last.number) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let mut stream = JobStream {
        hub,
        job,
        told: had.unwrap_or(last.number),
        next: VecDeque::from([RETRY]),
        behind: false,
        done: false,
        signals,
        heartbeat: app.settings.events.heartbeat_s.get(),
        slot,
    };
    match had {
        Some(had) if had < last.number => stream.catch_up().await?,
        Some(_) => {
            let now = app.clock.now();
            stream.tell(EventFrame::progress(&last, progress::estimate(&app.forecast, &last).await?, None, now));
        }
        None => stream.tell(EventFrame::kept(&last, progress::estimate(&app.forecast, &last).await?)),
    }
    Ok(response(stream.into_body()))
}

/// Refuses a client that does not take a stream.
pub(super) fn accept(headers: &HeaderMap) -> Result<(), ApiError> {
    if accepts(headers, KIND) {
        return Ok(());
    }
    let message = "the answer would be text/event-stream, which the Accept header excludes";
    Err(ApiError::new(ErrorCode::NotAcceptable, message))
}

pub(super) fn stopping() -> ApiError {
    ApiError::try_again(ErrorCode::Unavailable, "the service is stopping; try again", 1)
}

/// What the client had last. Whatever is no number is no id of ours, and the stream begins as if there were none.
pub(super) fn last_event_id(headers: &HeaderMap) -> Option<u32> {
    let text = headers.get(LAST_EVENT_ID)?.to_str().ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

pub(super) fn response(stream: Body) -> Response {
    let mut response = stream.into_response();
    // Neither kept, nor changed, nor held back on the way.
    let headers =
        [(header::CONTENT_TYPE, KIND), (header::CACHE_CONTROL, "no-store, no-transform"), (X_ACCEL_BUFFERING, "no")];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
