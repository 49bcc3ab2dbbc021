//! What is told between events: how far running episodes are, and what is expected.

use assay_model::JobStatus;
use assay_store::{EventRecord, LaneStep, StoreError};
use tokio::time::Instant;

use super::hub::{Channel, Inner, Said, Signal};
use super::update::{Expected, Frame};
use crate::Outlook;

/// Jobs that are told of in one go; the others have their turn next time.
const MAX_JOBS: usize = 500;
/// An expected end that moved less than this, in s, or by less than [`SHARE`] of what is left, did not move.
const LEAST_S: f64 = 2.0;
const SHARE: f64 = 0.1;

/// What is expected of a job whose last event is `event`.
pub(super) async fn expected(outlook: &Outlook, event: &EventRecord) -> Result<Expected, StoreError> {
    if event.status.is_final() {
        return Ok(Expected::default());
    }
    let ahead = outlook.ahead().await?.of(event.job_id, event.status);
    Ok(Expected::of(&ahead, event.status))
}

/// Tells those who follow jobs about which there is something new.
pub(super) async fn tell(hub: &Inner) {
    let Ok(ahead) = hub.outlook.ahead().await else { return };
    let now = hub.clock.now();
    let mut jobs = hub.jobs.lock().await;
    let mut told = 0;
    for (id, channel) in &mut jobs.channels {
        let Some(event) = channel.last.as_ref().filter(|event| !event.status.is_final()) else { continue };
        let forecast = ahead.of(*id, event.status);
        let expected = Expected::of(&forecast, event.status);
        let told_of = event.status == JobStatus::Running && channel.with_steps;
        let steps = if told_of { hub.live.steps(*id) } else { Vec::new() };
        let message = message(event, &steps);
        if !is_new(channel, expected, message.as_ref()) {
            continue;
        }
        channel.send(Signal::Frame(Frame::progress(event, expected, message.clone(), now)));
        channel.said = Said { expected, message, at: Instant::now() };
        told += 1;
        if told == MAX_JOBS {
            break;
        }
    }
}

/// Whether it says more than what was said last: that an end comes nearer as time goes on is no news.
fn is_new(channel: &Channel, expected: Expected, message: Option<&String>) -> bool {
    let said = &channel.said;
    let moved = match (said.expected.eta_s, expected.eta_s) {
        (Some(before), Some(now)) => {
            let due = (before - said.at.elapsed().as_secs_f64()).max(0.0);
            (now - due).abs() > LEAST_S.max(SHARE * due)
        }
        (before, now) => before != now,
    };
    moved || said.expected.queue_position != expected.queue_position || said.message.as_ref() != message
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
