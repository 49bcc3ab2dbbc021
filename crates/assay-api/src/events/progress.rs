//! Progress between events: the steps of running episodes, and new estimates.

use assay_model::JobStatus;
use assay_store::{EpisodeProgress, EventRecord, StoreError};
use tokio::time::Instant;

use super::channels::{HubState, JobChannel, LastProgress, StreamMessage};
use super::update::{EventFrame, JobEstimate};
use crate::QueueForecast;

/// Maximum number of jobs whose progress is sent in one round; the others follow in the next.
const MAX_JOBS: usize = 500;
/// Smallest change of an estimated end that is sent, in seconds.
const MIN_CHANGE_S: f64 = 2.0;
/// Smallest change of an estimated end that is sent, as a share of the remaining time.
const MIN_CHANGE_SHARE: f64 = 0.1;

/// Estimates the queue position and end of a job whose last event is `event`.
pub(super) async fn estimate(forecast: &QueueForecast, event: &EventRecord) -> Result<JobEstimate, StoreError> {
    if event.status.is_final() {
        return Ok(JobEstimate::default());
    }
    let job = forecast.snapshot().await?.of(event.job_id, event.status);
    Ok(JobEstimate::of(&job, event.status))
}

/// Sends the progress of all followed jobs for which it has changed.
pub(super) async fn publish(hub: &HubState) {
    let Ok(snapshot) = hub.forecast.snapshot().await else { return };
    let now = hub.clock.now();
    let mut jobs = hub.jobs.lock().await;
    let mut sent = 0;
    for (id, channel) in &mut jobs.channels {
        let Some(event) = channel.last.as_ref().filter(|event| !event.status.is_final()) else { continue };
        let forecast = snapshot.of(*id, event.status);
        let estimate = JobEstimate::of(&forecast, event.status);
        let shows_steps = event.status == JobStatus::Running && channel.with_steps;
        let steps = if shows_steps { hub.live.running(*id) } else { Vec::new() };
        let message = message(event, &steps);
        if !is_new(channel, estimate, message.as_ref()) {
            continue;
        }
        channel.send(StreamMessage::Event(EventFrame::progress(event, estimate, message.clone(), now)));
        channel.last_progress = LastProgress { estimate, message, at: Instant::now() };
        sent += 1;
        if sent == MAX_JOBS {
            break;
        }
    }
}

/// Returns whether the progress has changed since it was last sent. An end that approaches as time passes is not a
/// change.
fn is_new(channel: &JobChannel, estimate: JobEstimate, message: Option<&String>) -> bool {
    let last = &channel.last_progress;
    let moved = match (last.estimate.eta_s, estimate.eta_s) {
        (Some(before), Some(now)) => {
            let due = (before - last.at.elapsed().as_secs_f64()).max(0.0);
            (now - due).abs() > MIN_CHANGE_S.max(MIN_CHANGE_SHARE * due)
        }
        (before, now) => before != now,
    };
    moved || last.estimate.queue_position != estimate.queue_position || last.message.as_ref() != message
}

fn message(event: &EventRecord, steps: &[EpisodeProgress]) -> Option<String> {
    let EpisodeProgress { episode, step, max_steps: of } = steps.first()?;
    let (done, total) = (event.episodes_done, event.episodes_total);
    let others = match steps.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    Some(format!("{done} of {total} episodes done; episode {episode} is at step {step} of {of}{others}"))
}
