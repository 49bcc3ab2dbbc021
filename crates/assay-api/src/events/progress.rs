//! What is told between events: how far running episodes are, and what is estimate.

use assay_model::JobStatus;
use assay_store::{EventRecord, LaneStep, StoreError};
use tokio::time::Instant;

use super::hub::{HubState, JobChannel, LastProgress, StreamMessage};
use super::update::{EventFrame, JobEstimate};
use crate::QueueForecast;

/// FollowedJobs that are told of in one go; the others have their turn next time.
const MAX_JOBS: usize = 500;
/// An estimate end that moved less than this, in s, or by less than [`SHARE`] of what is left, did not move.
const LEAST_S: f64 = 2.0;
const SHARE: f64 = 0.1;

/// What is estimate of a job whose last event is `event`.
pub(super) async fn estimate(forecast: &QueueForecast, event: &EventRecord) -> Result<JobEstimate, StoreError> {
    if event.status.is_final() {
        return Ok(JobEstimate::default());
    }
    let ahead = forecast.snapshot().await?.of(event.job_id, event.status);
    Ok(JobEstimate::of(&ahead, event.status))
}

/// Tells those who follow jobs about which there is something new.
pub(super) async fn tell(hub: &HubState) {
    let Ok(ahead) = hub.forecast.snapshot().await else { return };
    let now = hub.clock.now();
    let mut jobs = hub.jobs.lock().await;
    let mut told = 0;
    for (id, channel) in &mut jobs.channels {
        let Some(event) = channel.last.as_ref().filter(|event| !event.status.is_final()) else { continue };
        let forecast = ahead.of(*id, event.status);
        let estimate = JobEstimate::of(&forecast, event.status);
        let told_of = event.status == JobStatus::Running && channel.with_steps;
        let steps = if told_of { hub.live.steps(*id) } else { Vec::new() };
        let message = message(event, &steps);
        if !is_new(channel, estimate, message.as_ref()) {
            continue;
        }
        channel.send(StreamMessage::Event(EventFrame::progress(event, estimate, message.clone(), now)));
        channel.last_progress = LastProgress { estimate, message, at: Instant::now() };
        told += 1;
        if told == MAX_JOBS {
            break;
        }
    }
}

/// Whether it says more than what was last_progress last: that an end comes nearer as time goes on is no news.
fn is_new(channel: &JobChannel, estimate: JobEstimate, message: Option<&String>) -> bool {
    let last_progress = &channel.last_progress;
    let moved = match (last_progress.estimate.eta_s, estimate.eta_s) {
        (Some(before), Some(now)) => {
            let due = (before - last_progress.at.elapsed().as_secs_f64()).max(0.0);
            (now - due).abs() > LEAST_S.max(SHARE * due)
        }
        (before, now) => before != now,
    };
    moved
        || last_progress.estimate.queue_position != estimate.queue_position
        || last_progress.message.as_ref() != message
}

fn message(event: &EventRecord, steps: &[LaneStep]) -> Option<String> {
    let LaneStep { episode, step, of } = steps.first()?;
    let (done, total) = (event.episodes_done, event.episodes_total);
    let others = match steps.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    Some(format!("{done} of {total} episodes done; episode {episode} is at step {step} of {of}{others}"))
}
