//! The task that reads new events from the records, once for all streams, and passes them on. It runs while any job is
//! followed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_store::StoreError;
use tokio::time::{Instant, sleep, timeout};

use super::channels::{HubState, LastProgress, StreamMessage};
use super::progress;
use super::stream_slots::StreamCredential;
use super::update::EventFrame;

/// Longest time between two reads of the records, for changes without a hint.
const POLL: Duration = Duration::from_secs(1);
/// Changes come in bursts; those within this time are read together.
const SETTLE: Duration = Duration::from_millis(20);
/// Interval between checks of the keys and sessions of open streams: they expire, and other processes revoke keys too.
const CREDENTIALS: Duration = Duration::from_secs(2);
/// Shortest interval between two rounds of progress.
const PROGRESS: Duration = Duration::from_secs(1);
/// Events read per query.
const PAGE: u32 = 500;

/// Passes on the events after `cursor`.
pub(super) async fn run(hub: Arc<HubState>, mut cursor: u64) {
    let mut changes = hub.records.changes();
    let (mut checked, mut sent) = (Instant::now(), Instant::now());
    loop {
        tokio::select! {
            // A backend that gives no hints is polled.
            changed = timeout(POLL, changes.changed()) => match changed {
                Ok(Ok(())) => sleep(SETTLE).await,
                Ok(Err(_)) => sleep(POLL).await,
                Err(_) => {}
            },
            () = hub.recheck.notified() => checked = Instant::now() - CREDENTIALS,
        }
        if hub.stopping.load(Ordering::Relaxed) {
            return end(&hub).await;
        }
        changes.mark_unchanged();
        if let Err(error) = pass_on(&hub, &mut cursor).await {
            error.log("could not read new events; retrying");
        }
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

async fn pass_on(hub: &HubState, cursor: &mut u64) -> Result<(), StoreError> {
    loop {
        let events = hub.records.events_after(*cursor, PAGE).await?;
        let mut jobs = hub.jobs.lock().await;
        for event in &events {
            *cursor = event.event;
            if let Some(channel) = jobs.channels.get_mut(&event.job_id) {
                // A failed forecast must not delay the event itself.
                let estimate = progress::estimate(&hub.forecast, event).await.unwrap_or_default();
                channel.send(StreamMessage::Event(EventFrame::recorded(event, estimate)));
                channel.last = Some(event.clone());
                channel.last_progress = LastProgress::of(estimate);
            }
        }
        if events.len() < PAGE as usize {
            return Ok(());
        }
    }
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
