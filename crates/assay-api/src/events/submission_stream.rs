//! The event stream of one client that follows a submission: at most one event at each point of its grid, and nothing
//! in between that depends on the submission's progress. The records are read when a point has come; a message from
//! the hub only means that the stream may have to end.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use assay_model::{Grid, JobId};
use assay_store::StoreError;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};

use super::channels::StreamMessage;
use super::follow::{last_event_id, require_event_stream, response, stopping_error};
use super::stream_slots::StreamSlot;
use super::update::{EventFrame, HEARTBEAT, RETRY};
use crate::http::{ApiError, Caller};
use crate::published::{Change, PublishedSubmission};
use crate::state::App;

/// Maximum time between two readings of the clock.
const TICK: Duration = Duration::from_secs(1);

/// Streams the events of a submission that the caller may read. Ids are one more than the point of the grid. Begins and
/// resumes as [`super::follow`] does.
///
/// # Errors
/// NOT_ACCEPTABLE, UNAVAILABLE or RATE_LIMITED, as there.
pub(crate) async fn follow_submission(
    app: &App,
    caller: &Caller,
    published: &PublishedSubmission,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    require_event_stream(headers)?;
    let hub = app.events.clone();
    if hub.is_stopping() {
        return Err(stopping_error());
    }
    let slot = hub.0.slots.acquire(caller, app.settings.account.streams, app.settings.events.max_streams)?;
    let job = published.record().header.job_id;
    let messages = hub.subscribe(job, false).await?;
    let published = published.clone().with_history(&*app.records).await?;
    let last = published.changes().last().map_or(1, event_id);
    let had = last_event_id(headers).filter(|had| *had <= last);
    if published.status().is_final() && had == Some(last) {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let now = Instant::now();
    let mut stream = SubmissionStream {
        app: app.clone(),
        job,
        // Without an id the client gets the last change, as the state.
        last_id: had.unwrap_or(last - 1),
        grid: published.grid(),
        point: published.point(),
        next: VecDeque::from([RETRY]),
        done: false,
        heartbeat: app.settings.events.heartbeat_s.get(),
        sent: now,
        messages,
        slot,
    };
    stream.push_news(&published).await?;
    Ok(response(stream.into_body()))
}

/// The position of a client in the events of a submission.
struct SubmissionStream {
    app: App,
    job: JobId,
    /// The id of the last event that the client has received.
    last_id: u32,
    grid: Grid,
    /// The last point whose state was sent.
    point: u32,
    next: VecDeque<Bytes>,
    done: bool,
    heartbeat: Duration,
    /// The time at which anything was last sent.
    sent: Instant,
    messages: broadcast::Receiver<StreamMessage>,
    slot: StreamSlot,
}

impl SubmissionStream {
    fn into_body(self) -> Body {
        Body::from_stream(stream::unfold(self, async |mut stream| {
            let bytes = stream.next().await?;
            stream.sent = Instant::now();
            Some((Ok::<_, Infallible>(bytes), stream))
        }))
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.next.pop_front() {
                return Some(bytes);
            }
            if self.done || self.slot.has_ended() || self.app.events.is_stopping() {
                return None;
            }
            // On an error the stream ends, and the client reconnects with the last id that it received.
            self.poll_grid().await.ok()?;
            if !self.next.is_empty() {
                continue;
            }
            let beat = self.sent + self.heartbeat;
            if beat <= Instant::now() {
                return Some(HEARTBEAT);
            }
            match timeout_at(beat.min(Instant::now() + TICK), self.messages.recv()).await {
                Ok(Err(RecvError::Closed)) => return None,
                // Whatever happened becomes visible at the next point.
                Ok(Ok(_) | Err(RecvError::Lagged(_))) | Err(_) => {}
            }
        }
    }

    /// Queues the events of the points that have come since the last call.
    async fn poll_grid(&mut self) -> Result<(), StoreError> {
        let now = self.app.clock.now();
        if self.grid.last_point(now) <= self.point {
            return Ok(());
        }
        let Some(record) = self.app.records.job(None, self.job).await? else {
            self.done = true;
            return Ok(());
        };
        let published = PublishedSubmission::read(&*self.app.records, record, now).await?;
        let published = published.with_history(&*self.app.records).await?;
        if published.point() > self.point {
            self.point = published.point();
            self.push_news(&published).await?;
        }
        Ok(())
    }

    /// Queues the changes that were not sent yet; if there is none, the current estimate.
    async fn push_news(&mut self, published: &PublishedSubmission) -> Result<(), StoreError> {
        let news: Vec<Change> =
            published.changes().iter().filter(|change| event_id(change) > self.last_id).copied().collect();
        let estimate = self.app.forecast.published(self.job, published.status(), published.point()).await?;
        for change in &news {
            let is_last = news.last() == Some(change);
            let frame = EventFrame::published(published, Some(*change), is_last.then(|| estimate.clone()));
            self.last_id = event_id(change);
            self.done = frame.done;
            self.next.push_back(frame.bytes);
        }
        if news.is_empty() && !published.status().is_final() {
            self.next.push_back(EventFrame::published(published, None, Some(estimate)).bytes);
        }
        Ok(())
    }
}

/// Returns the event id of a change; 0 precedes the first.
fn event_id(change: &Change) -> u32 {
    change.point.saturating_add(1)
}
