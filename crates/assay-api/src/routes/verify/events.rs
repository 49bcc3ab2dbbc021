//! `GET /verify/{job_id}/events`: the events of a job, as they occur.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::events::{JobUpdate, follow};
use crate::http::{ApiError, Caller};
use crate::routes::jobs::{ReadAccess, Verification};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// Follow a verification
///
/// Streams server-sent events, each with state and progress, until the job has ended. A client that loses the
/// connection sends `Last-Event-ID` and misses nothing.
#[utoipa::path(
    get, path = "/verify/{job_id}/events", operation_id = "verification_events", tag = "verify",
    params(
        ("job_id" = uuid::Uuid, Path, description = "The job's id"),
        ("Last-Event-ID" = Option<String>, Header, description = "Id of the last event that the client received: the \
            stream continues after it. 0 starts with the first event. Any other value is ignored"),
    ),
    responses(
        (
            status = 200, content_type = "text/event-stream", body = ref(schema_of::<JobUpdate>()),
            description = "Server-sent events without names, each with such an object as data, until `done` is true. \
                Changes of state and ends of episodes have an id; progress in between has none",
        ),
        (status = 204, description = "The client has already received the last event"),
        (status = 400), (status = 404), (status = 410), (status = 429),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Verification { record, .. }: Verification<ReadAccess>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    caller.record_access(&app, (&record.account, &record.header.job_id), "followed a job").await?;
    follow(&app, &caller, &record, &headers).await
}
