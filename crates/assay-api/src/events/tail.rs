//! The task that reads new events from the records, once for all streams, and passes them on. It runs while any job is
//! followed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_store::{EventPosition, EventRecord, StoreError};
use tokio::time::{Instant, sleep, timeout};

use super::channels::{FollowedJobs, HubState, LastProgress, StreamMessage};
use super::progress;
use super::stream_slots::StreamCredential;
use super::update::{EventFrame, JobEstimate};

/// Maximum time between two reads of the records, for changes without a hint.
const POLL: Duration = Duration::from_secs(1);
/// Changes come in bursts; those within this time are read together.
const SETTLE: Duration = Duration::from_millis(20);
/// Interval between checks of the keys and sessions of open streams: they expire, and other processes revoke keys too.
const CREDENTIALS: Duration = Duration::from_secs(2);
/// Shortest interval between two rounds of progress.
const PROGRESS: Duration = Duration::from_secs(1);
/// Reading new events may take at most one part in this many of the time.
const SHARE: u32 = 20;
/// Events read per query.
const PAGE: u32 = 500;

/// Passes on new events of the followed jobs.
pub(super) async fn run(hub: Arc<HubState>) {
    let mut changes = hub.records.changes();
    let mut pause = SETTLE;
    let (mut checked, mut sent) = (Instant::now(), Instant::now());
    loop {
        tokio::select! {
            // A backend that gives no hints is polled.
            changed = timeout(POLL, changes.changed()) => match changed {
                Ok(Ok(())) => sleep(pause).await,
                Ok(Err(_)) => sleep(POLL).await,
                Err(_) => {}
            },
            () = hub.recheck.notified() => checked = Instant::now() - CREDENTIALS,
        }
        if hub.stopping.load(Ordering::Relaxed) {
            return end(&hub).await;
        }
        changes.mark_unchanged();
        let begun = Instant::now();
        if let Err(error) = pass_on(&hub).await {
            error.log("could not read new events; retrying");
        }
        pause = (begun.elapsed() * SHARE).clamp(SETTLE, POLL);
        if checked.elapsed() >= CREDENTIALS {
            checked = Instant::now();
            recheck_credentials(&hub).await;
        }
        if sent.elapsed() >= PROGRESS {
            sent = Instant::now();
            progress::publish(&hub).await;
        }
        if drop_unfollowed(&hub).await {
            return;
        }
    }
}

async fn pass_on(hub: &HubState) -> Result<(), StoreError> {
    loop {
        let positions = positions(&*hub.jobs.lock().await);
        if positions.is_empty() {
            return Ok(());
        }
        let events = hub.records.events_of(&positions, PAGE).await?;
        for event in &events {
            // A failed forecast must not delay the event itself.
            let estimate = progress::estimate(&hub.forecast, event).await.unwrap_or_default();
            send(&mut *hub.jobs.lock().await, event, estimate);
        }
        if events.len() < PAGE as usize {
            return Ok(());
        }
    }
}

/// Returns the position of each followed job.
fn positions(jobs: &FollowedJobs) -> Vec<EventPosition> {
    let number = |last: &Option<EventRecord>| last.as_ref().map_or(0, |event| event.number);
    jobs.channels
        .iter()
        .map(|(job_id, channel)| EventPosition { job_id: *job_id, after: number(&channel.last) })
        .collect()
}

/// Passes an event on, unless the job's channel was closed meanwhile, or opened anew after the event.
fn send(jobs: &mut FollowedJobs, event: &EventRecord, estimate: JobEstimate) {
    let Some(channel) = jobs.channels.get_mut(&event.job_id) else { return };
    if channel.last.as_ref().is_some_and(|last| last.number >= event.number) {
        return;
    }
    channel.send(StreamMessage::Event(EventFrame::recorded(event, estimate)));
    channel.last = Some(event.clone());
    channel.last_progress = LastProgress::of(estimate);
}

async fn recheck_credentials(hub: &HubState) {
    let mut ended = false;
    for credential in hub.slots.credentials() {
        // A credential that cannot be read now is checked again soon.
        if let Ok(false) = is_valid(hub, &credential).await {
            hub.slots.end(&credential);
            ended = true;
        }
    }
    if ended {
        hub.jobs.lock().await.channels.values().for_each(|channel| channel.send(StreamMessage::Recheck));
    }
}

async fn is_valid(hub: &HubState, StreamCredential { key, session }: &StreamCredential) -> Result<bool, StoreError> {
    let now = hub.clock.now();
    let key = hub.records.key(key).await?;
    let key_is_valid = key.is_some_and(|key| key.revoked_at.is_none() && key.is_valid(now));
    let Some(hash) = session.filter(|_| key_is_valid) else { return Ok(key_is_valid) };
    Ok(hub.records.session(&hash).await?.is_some_and(|session| now < session.expires_at))
}

/// Drops the channels of jobs without streams. Returns true when none is left: then this task ends.
async fn drop_unfollowed(hub: &HubState) -> bool {
    let mut jobs = hub.jobs.lock().await;
    jobs.channels.retain(|_, channel| channel.sender.receiver_count() > 0);
    jobs.tailed = !jobs.channels.is_empty();
    !jobs.tailed
}

/// Closes all channels and thereby all streams.
async fn end(hub: &HubState) {
    let mut jobs = hub.jobs.lock().await;
    jobs.channels.clear();
    jobs.tailed = false;
}
