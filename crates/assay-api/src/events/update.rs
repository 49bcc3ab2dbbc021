//! The content of an event, and its encoding on the wire.

use std::fmt::Write as _;

use assay_model::{JobStatus, PublishedProgress, Verdict};
use assay_store::EventRecord;
use axum::body::Bytes;
use jiff::Timestamp;
use serde::Serialize;

use crate::forecast::JobForecast;
use crate::published::{Change, PublishedSubmission};

/// Keeps an idle connection open; clients ignore it. Without an empty line, which some clients take for an event
/// without data.
pub(super) const HEARTBEAT: Bytes = Bytes::from_static(b":\n");
/// The first line of a stream, part of its first event: the reconnection delay in ms.
pub(super) const RETRY: Bytes = Bytes::from_static(b"retry: 1000\n");

/// State and progress of a job, as the data of a server-sent event.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub(crate) struct JobUpdate {
    /// State of the job.
    status: JobStatus,
    /// True if the state is final: the stream ends after this event.
    done: bool,
    /// Verdict, once there is one.
    verdict: Option<Verdict>,
    progress: PublishedProgress,
    /// Position in the queue, from 1; only while the job is QUEUED.
    queue_position: Option<u32>,
    /// Estimated seconds until the job ends.
    eta_s: Option<f64>,
    /// Reason why `eta_s` is `null` while the job has not ended.
    eta_reason: Option<String>,
    /// Message for humans.
    message: String,
    /// Time of the event.
    at: Timestamp,
}

/// The estimated queue position and end of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct JobEstimate {
    pub(super) queue_position: Option<u32>,
    pub(super) eta_s: Option<f64>,
    pub(super) eta_reason: Option<&'static str>,
}

impl JobEstimate {
    /// Creates the estimate from the forecast of a job in this state.
    pub(super) fn of(forecast: &JobForecast, status: JobStatus) -> Self {
        Self { queue_position: forecast.position, eta_s: forecast.eta_s, eta_reason: forecast.eta_reason(status) }
    }
}

/// An encoded event, shared by all streams of the job.
#[derive(Debug, Clone)]
pub(super) struct EventFrame {
    /// The number of a recorded event; `None` for progress between events.
    pub(super) number: Option<u32>,
    pub(super) done: bool,
    pub(super) bytes: Bytes,
}

impl EventFrame {
    /// Encodes a recorded event.
    pub(super) fn recorded(event: &EventRecord, estimate: JobEstimate) -> Self {
        let update = JobUpdate::new(event, estimate, message(event), event.at);
        Self { number: Some(event.number), done: update.done, bytes: encode(Some(event.number), &update) }
    }

    /// Encodes the published update of a submission: a change of its state, or a new estimate where the state is the
    /// same.
    pub(super) fn published(
        submission: &PublishedSubmission,
        change: Option<Change>,
        forecast: Option<JobForecast>,
    ) -> Self {
        let (point, status) = match change {
            Some(Change { point, status }) => (point, status),
            None => (submission.point(), submission.status()),
        };
        let report = submission.record().report(&[]);
        let estimate = forecast.map(|forecast| JobEstimate::of(&forecast, status)).unwrap_or_default();
        let (done, total) = (submission.episodes_done(), report.progress.episodes_total);
        let update = JobUpdate {
            status,
            done: status.is_final(),
            verdict: report.verdict.filter(|_| status == JobStatus::Completed),
            progress: PublishedProgress::new(status, done.filter(|_| status.is_final()), total),
            queue_position: estimate.queue_position.filter(|_| status == JobStatus::Queued),
            eta_s: estimate.eta_s,
            eta_reason: estimate.eta_reason.map(str::to_owned),
            message: published_message(status, report.verdict, report.error_message),
            at: submission.grid().time(point),
        };
        let number = change.map(|change| change.point.saturating_add(1));
        Self { number, done: update.done, bytes: encode(number, &update) }
    }

    /// Encodes the progress at time `at` of a job whose last event is `event`.
    pub(super) fn progress(event: &EventRecord, estimate: JobEstimate, message: Option<String>, at: Timestamp) -> Self {
        let text = message.unwrap_or_else(|| self::message(event));
        let update = JobUpdate::new(event, estimate, text, at);
        Self { number: None, done: update.done, bytes: encode(None, &update) }
    }
}

impl JobUpdate {
    fn new(event: &EventRecord, estimate: JobEstimate, message: String, at: Timestamp) -> Self {
        Self {
            status: event.status,
            done: event.status.is_final(),
            verdict: event.verdict,
            progress: PublishedProgress::new(event.status, Some(event.episodes_done), event.episodes_total),
            queue_position: estimate.queue_position.filter(|_| event.status == JobStatus::Queued),
            eta_s: estimate.eta_s.filter(|_| !event.status.is_final()),
            eta_reason: estimate.eta_reason.filter(|_| !event.status.is_final()).map(str::to_owned),
            message,
            at,
        }
    }
}

fn message(event: &EventRecord) -> String {
    let EventRecord { episodes_done: done, episodes_total: total, .. } = event;
    match (event.status, event.verdict) {
        (JobStatus::Queued, _) => "waiting for its turn".to_owned(),
        (JobStatus::Running, _) => format!("{done} of {total} episodes done"),
        (JobStatus::Judging, _) => "all episodes are done; computing the verdict".to_owned(),
        (JobStatus::Completed, Some(verdict)) => format!("the verdict is {verdict}"),
        (JobStatus::Completed, None) => "completed".to_owned(),
        (JobStatus::Failed, _) => event.failure.clone().unwrap_or_else(|| "failed".to_owned()),
        (JobStatus::Cancelled, _) => "cancelled".to_owned(),
    }
}

/// Returns the message for a submission, which says nothing about its episodes.
fn published_message(status: JobStatus, verdict: Option<Verdict>, failure: Option<String>) -> String {
    match (status, verdict) {
        (JobStatus::Running, _) => "running the episodes".to_owned(),
        (JobStatus::Queued, _) => "waiting for its turn".to_owned(),
        (JobStatus::Judging, _) => "all episodes are done; computing the verdict".to_owned(),
        (JobStatus::Completed, Some(verdict)) => format!("the verdict is {verdict}"),
        (JobStatus::Completed, None) => "completed".to_owned(),
        (JobStatus::Failed, _) => failure.unwrap_or_else(|| "failed".to_owned()),
        (JobStatus::Cancelled, _) => "cancelled".to_owned(),
    }
}

/// Encodes an update as a server-sent event without a name, so that `onmessage` receives it. JSON has no line breaks,
/// so the data is one line.
fn encode(number: Option<u32>, update: &JobUpdate) -> Bytes {
    let mut text = String::with_capacity(320);
    let json = serde_json::to_string(update).unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = match number {
        Some(number) => write!(text, "id: {number}\ndata: {json}\n\n"),
        None => write!(text, "data: {json}\n\n"),
    };
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn event(status: JobStatus) -> EventRecord {
        EventRecord {
            job_id: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(),
            number: 4,
            at: Timestamp::from_second(1_750_000_000).unwrap(),
            status,
            verdict: None,
            episodes_done: 2,
            episodes_total: 3,
            failure: Some("line one\nline two".into()),
        }
    }

    #[test]
    fn an_event_is_two_lines_followed_by_an_empty_line() {
        let estimate = JobEstimate { queue_position: Some(2), eta_s: Some(1.5), eta_reason: None };
        let kept = EventFrame::recorded(&event(JobStatus::Failed), estimate);
        let text = std::str::from_utf8(&kept.bytes).unwrap();
        assert!(kept.done && text.starts_with("id: 4\ndata: {") && text.ends_with("}\n\n"), "{text}");
        assert_eq!(text.lines().count(), 3, "a message of two lines is still one line of data: {text}");
        assert!(
            text.contains("\"queue_position\":null,\"eta_s\":null"),
            "a job that has ended has no estimate: {text}"
        );
        let progress = EventFrame::progress(&event(JobStatus::Queued), estimate, None, event(JobStatus::Queued).at);
        let text = std::str::from_utf8(&progress.bytes).unwrap();
        assert!(text.starts_with("data: {\"status\":\"QUEUED\",\"done\":false"), "{text}");
        assert!(text.contains("\"queue_position\":2,\"eta_s\":1.5"), "{text}");
    }
}
