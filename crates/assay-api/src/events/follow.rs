//! Opening the event stream of a job.

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
const CONTENT_TYPE: &str = "text/event-stream";

/// Streams the events of a job that the caller may read: the current state, or all events after the one that the client
/// received last (`Last-Event-ID`), and then new events until the job has ended. Returns 204 if the client has received
/// all events.
pub(crate) async fn follow(
    app: &App,
    caller: &Caller,
    record: &JobRecord,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    require_event_stream(headers)?;
    erased::none(record)?;
    let job = record.header.job_id;
    let hub = app.events.clone();
    if hub.is_stopping() {
        return Err(stopping_error());
    }
    let slot = hub.0.slots.acquire(caller, app.settings.account.streams, app.settings.events.max_streams)?;
    // Subscribe before reading the records: an event in between is received twice, and sent once.
    let messages = hub.subscribe(job, record.header.kind() == JobKind::Verify).await?;
    let last = app.records.last_event(job).await?.ok_or_else(|| ApiError::not_found("job"))?;
    let had = last_event_id(headers).filter(|had| *had <= last.number);
    if last.status.is_final() && had == Some(last.number) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let mut stream = JobStream {
        hub,
        job,
        last_sent: had.unwrap_or(last.number),
        next: VecDeque::from([RETRY]),
        behind: false,
        done: false,
        messages,
        heartbeat: app.settings.events.heartbeat_s.get(),
        slot,
    };
    match had {
        Some(had) if had < last.number => stream.catch_up().await?,
        Some(_) => {
            let now = app.clock.now();
            stream.push(EventFrame::progress(&last, progress::estimate(&app.forecast, &last).await?, None, now));
        }
        None => stream.push(EventFrame::recorded(&last, progress::estimate(&app.forecast, &last).await?)),
    }
    Ok(response(stream.into_body()))
}

/// Returns an error if the client does not accept a stream.
pub(super) fn require_event_stream(headers: &HeaderMap) -> Result<(), ApiError> {
    if accepts(headers, CONTENT_TYPE) {
        return Ok(());
    }
    let message = "the response is text/event-stream, which the Accept header excludes";
    Err(ApiError::new(ErrorCode::NotAcceptable, message))
}

pub(super) fn stopping_error() -> ApiError {
    ApiError::try_again(ErrorCode::Unavailable, "the service is stopping; try again", 1)
}

/// Returns the id of the last event that the client received. Anything but a number is ignored.
pub(super) fn last_event_id(headers: &HeaderMap) -> Option<u32> {
    let text = headers.get(LAST_EVENT_ID)?.to_str().ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

pub(super) fn response(stream: Body) -> Response {
    let mut response = stream.into_response();
    // Proxies must not store, transform or buffer the stream.
    let headers = [
        (header::CONTENT_TYPE, CONTENT_TYPE),
        (header::CACHE_CONTROL, "no-store, no-transform"),
        (X_ACCEL_BUFFERING, "no"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
