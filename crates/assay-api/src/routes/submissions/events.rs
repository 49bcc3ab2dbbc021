//! `GET /submissions/{id}/events`: the published progress of a submission, without anything about single episodes.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::events::{JobUpdate, follow_submission};
use crate::http::{ApiError, Caller};
use crate::routes::jobs::{ReadAccess, Submission};
use crate::routes::openapi::body::schema_of;
use crate::state::App;

/// Follow a submission
///
/// Streams server-sent events, each with the state of the submission. While its season is open, events are sent at most
/// every 15 s. A client that loses the connection sends `Last-Event-ID` and misses nothing.
#[utoipa::path(
    get, path = "/submissions/{id}/events", operation_id = "submission_events", tag = "arena",
    params(
        ("id" = uuid::Uuid, Path, description = "The submission's id"),
        ("Last-Event-ID" = Option<String>, Header, description = "Id of the last event that the client received: the \
            stream continues after it. 0 starts with the first event. Any other value is ignored"),
    ),
    responses(
        (
            status = 200, content_type = "text/event-stream", body = ref(schema_of::<JobUpdate>()),
            description = "Server-sent events without names, each with such an object as data, until `done` is true. \
                At most one every 15 s from `created_at`. Changes of state have an id; estimates have none",
        ),
        (status = 204, description = "The client has already received the last event"),
        (status = 400), (status = 404), (status = 410), (status = 429),
    ),
)]
pub(in crate::routes) async fn handle(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Submission { published, .. }: Submission<ReadAccess>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let job = published.record();
    caller.record_access(&app, (&job.account, &job.header.job_id), "followed a submission").await?;
    follow_submission(&app, &caller, &published, &headers).await
}
